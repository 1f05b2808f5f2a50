"""`tfaudit detect`: exit codes, files, the page, and what it refuses."""

import json
import re
import shlex

import numpy as np
import pytest
from PIL import Image

from tests.builders.refusals import refused_lines
from tests.extensions.detection.random_boxes import random_detections, random_truth, written


@pytest.fixture
def place(tmp_path):
    """A truth, a model, one that misses much, and the images."""
    rng = np.random.default_rng(0)
    content = random_truth(rng, 60)
    files = {
        "a": random_detections(rng, content, 0.05, 2),
        "b": random_detections(rng, content, 0.5, 3),
        "c": random_detections(rng, content, 0.05, 2),
    }
    for image in content["images"]:
        image["file_name"] = f"{image['id']}.png"
        Image.fromarray(np.full((200, 200), image["id"] % 256, np.uint8)).save(
            tmp_path / image["file_name"]
        )
    written(tmp_path, truth=content, **files)
    return tmp_path


def test_a_harmed_detector_fails_in_every_outlet(place, tfaudit):
    words = "--coco truth.json --baseline a.json --compressed int8=b.json --group night --images ."
    files = "--report r.html --json v.json --junit v.xml --markdown v.md --sarif v.sarif"
    code, printed, _ = tfaudit("detect", *shlex.split(f"{words} {files} --max-map-drop 2"))
    assert code == 1
    assert "int8: FAIL, 60 examples" in printed
    assert "drop of mAP" in printed
    for row in ("all boxes", "class: class 2", "size: small", "night: 1"):
        assert row in printed
    verdict = json.loads((place / "v.json").read_text())["verdicts"]["int8"]
    assert [check["check"] for check in verdict["checks"]] == ["map_drop_pp"]
    assert "map_drop_pp" in (place / "v.xml").read_text()
    page = (place / "r.html").read_text()
    assert page.count("<svg viewBox") == 24
    assert page.count('class="gone"') > 24
    assert "found before and not after are red" in page
    assert re.search(r"class 2.*lost</figcaption>", page)


def test_populations_in_pairs_and_limits_pass(place, tfaudit):
    limits = "--max-false-positives-per-image 9 --max-map-drop 60 --max-box-recall-drop 60"
    words = "--baseline [ac].json --compressed x=[ac].json --paired --score-threshold 0.2"
    code, printed, _ = tfaudit("detect", *shlex.split(f"--coco truth.json {words} {limits}"))
    assert code == 0
    assert "2 and 2 members" in printed
    assert "a score of 0.2 or more." in printed


@refused_lines("""
--baseline a.json --compressed none.json
    compressed: got none.json, which matches no file
--baseline a.json --compressed b.json --max-map-drop 101
    --max-map-drop: got 101.0, expected percentage points in [0, 100]
--baseline a.json --compressed b.json --images .
    --images: got ., expected --report FILE
--baseline a.json --compressed b.json --images none --report r.html
    --images: got none, expected a folder
--baseline a.json --compressed b.json --group weather
    group: got 'weather', expected columns among
--baseline truth.json --compressed b.json
    truth.json: got dict, expected a list of objects
--baseline a.json --compressed b.json c.json
    unexpected
--baseline a.json --compressed b.json --alpha 2
    alpha: got 2.0, expected a level in (0, 1)
""")
def test_bad_input_is_one_line(place, tfaudit, refused, words, message):
    if message == "unexpected":
        assert tfaudit("detect", "--coco", "truth.json", *words)[0] == 4
    else:
        refused(tfaudit("detect", "--coco", "truth.json", *words), message)


def test_a_missing_image_is_named(place, tfaudit, refused):
    for file in place.glob("*.png"):
        file.unlink()
    words = "--coco truth.json --baseline a.json --compressed b.json --images . --report r.html"
    refused(tfaudit("detect", *shlex.split(words)), "which cannot be read, expected the file")
    assert not (place / "r.html").exists()
