"""Files in COCO's formats: what is wrong with them is one line."""

import copy

import pytest

from tests.builders.refusals import assert_refused
from tests.extensions.detection.random_boxes import written
from tfaudit.extensions.detection.coco_files import read_detections, read_truth

BOX = {"id": 1, "image_id": 4, "category_id": 2, "bbox": [10, 10, 20, 30]}
TRUTH = {
    "images": [{"id": 4, "width": 100, "height": 80, "night": "yes"}],
    "categories": [{"id": 2, "name": "cat"}],
    "annotations": [BOX, BOX | {"id": 2, "occluded": True, "iscrowd": 1}],
}
FOUND = {"image_id": 4, "category_id": 2, "bbox": [10, 10, 20, 30], "score": 0.5}

BAD_TRUTH = [
    ({"annotations": None}, "annotations: got NoneType, expected a list of objects"),
    ({"images": [{"id": 4}]}, "images: got no width in object 0"),
    ({"images": [{"id": 4, "width": "x", "height": 1}]}, "sizes that are no numbers"),
    ({"images": 2 * TRUTH["images"]}, "images: got the id 4 twice"),
    ({"annotations": [BOX, BOX]}, "annotations: got the id 1 twice"),
    ({"categories": 2 * TRUTH["categories"]}, "categories: got the id 2 twice"),
    ({"annotations": [BOX | {"image_id": 5}]}, "got the image 5 in row 0"),
    ({"annotations": [BOX | {"category_id": 9}]}, "got the category 9 in row 0"),
    ({"annotations": [BOX | {"bbox": [90, 10, 20, 30]}]}, "1 of 1 boxes beyond their image"),
    ({"annotations": [BOX | {"bbox": [1, 2, 3]}]}, r"the box \[1, 2, 3\] in row 0"),
    ({"annotations": [BOX | {"bbox": [1, 2, -3, 4]}]}, "numbers of 0 or more"),
    ({"annotations": [BOX | {"image_id": [4]}]}, r"image_id \[4\] in object 0"),
]

BAD_DETECTIONS = [
    ({}, "got dict, expected a list of objects"),
    ([FOUND | {"score": float("nan")}], "the score nan of detection 0, expected finite numbers"),
    ([FOUND | {"score": "high"}], "the score high of detection 0"),
    ([{"image_id": 4}], "got no category_id in object 0"),
    (2 * [FOUND | {"image_id": 8}], "got the image 8 in row 0, expected image ids"),
    ([FOUND | {"category_id": 0}], "got the category 0 in row 0"),
    ([FOUND | {"bbox": [60, 10, 95, 40]}], "these boxes are x1, y1, x2, y2"),
    ([FOUND | {"bbox": [90, 10, 20, 30]}], "expected boxes clipped to it"),
    ([FOUND | {"bbox": [1, 2, None, 4]}], "numbers of 0 or more"),
]


def test_groups_are_what_the_file_says_of_boxes_and_images(tmp_path):
    truth = read_truth(*written(tmp_path, truth=copy.deepcopy(TRUTH)))
    assert truth.boxes["area"].tolist() == [600, 600]
    assert truth.boxes["crowd"].tolist() == [False, True]
    assert truth.groups["night"].tolist() == ["yes", "yes"]
    assert truth.groups["occluded"].isna().tolist() == [True, False]


@pytest.mark.parametrize(("change", "message"), BAD_TRUTH)
def test_bad_truth_is_refused(tmp_path, change, message):
    [file] = written(tmp_path, truth=TRUTH | change)
    assert_refused(message, read_truth, file)


@pytest.mark.parametrize(("content", "message"), BAD_DETECTIONS)
def test_bad_detections_are_refused(tmp_path, content, message):
    first, second = written(tmp_path, truth=TRUTH, a=content)
    assert_refused(message, read_detections, second, read_truth(first))


def test_files_that_are_no_json_are_refused(tmp_path):
    (tmp_path / "truth.json").write_text("{")
    assert_refused("a damaged or truncated file", read_truth, tmp_path / "truth.json")
    assert_refused("an unreadable file", read_truth, tmp_path / "none.json")
