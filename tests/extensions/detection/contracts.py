"""What tests of all audits test here, too."""

import tempfile
from pathlib import Path

from tests.extensions.detection.random_boxes import random_pair
from tfaudit.extensions.detection.detection import detect


def _harmed():
    with tempfile.TemporaryDirectory() as folder:
        truth, before, after = random_pair(Path(folder), miss=0.4)
    return detect(truth, [before], [after])


RESULTS = [("detect", _harmed)]
