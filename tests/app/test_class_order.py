"""A doubt about the order of the classes begins every page of the viewer."""

import numpy as np
import pytest

from tfaudit.predictions import Predictions
from tfaudit.store.external import import_predictions


@pytest.mark.slow
def test_every_page_begins_with_a_doubt_about_the_order(tmp_path, open_page):
    labels = np.repeat(np.arange(3), 30)
    swapped = Predictions.from_top1(labels, np.array([0, 2, 1])[labels])
    import_predictions(tmp_path, swapped, {"int8": swapped}, name="study")
    app = open_page(tmp_path, "compare")
    alert = app.get("html")[0].proto.body
    assert "Cannot judge. The baseline is right on 33.3 % of the examples" in alert
