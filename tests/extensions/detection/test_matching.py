"""Matches and average precision: pycocotools' own summary, and another implementation."""

import contextlib
import io

import numpy as np
import pytest

from tests.extensions.detection.random_boxes import random_detections, random_truth, written
from tfaudit.extensions.detection.average_precision import class_precisions
from tfaudit.extensions.detection.coco_files import read_detections, read_truth
from tfaudit.extensions.detection.matching import IOUS, matched


def overlap(one, other, crowd):
    x1, y1 = max(one[0], other[0]), max(one[1], other[1])
    x2 = min(one[0] + one[2], other[0] + other[2])
    y2 = min(one[1] + one[3], other[1] + other[3])
    both = max(x2 - x1, 0) * max(y2 - y1, 0)
    areas = one[2] * one[3], other[2] * other[3]
    return both / (areas[0] if crowd else sum(areas) - both)


def scores_that_find(truth, detections):
    """The score of the detection that finds each true box at IoU .5, by id, from the definition."""
    scores = {box["id"]: -np.inf for box in truth["annotations"]}
    for image in truth["images"]:
        for category in truth["categories"]:
            key = (image["id"], category["id"])

            def of(rows, key=key):
                return [row for row in rows if (row["image_id"], row["category_id"]) == key]

            free = of(truth["annotations"])
            for found in sorted(of(detections), key=lambda row: -row["score"]):
                scored = [
                    (overlap(found["bbox"], box["bbox"], box["iscrowd"]), box) for box in free
                ]
                near = [pair for pair in scored if pair[0] >= 0.5]
                plain = [pair for pair in near if not pair[1]["iscrowd"]]
                if plain:
                    most = max(pair[0] for pair in plain)
                    best = [box for share, box in plain if share == most][-1]
                    scores[best["id"]] = found["score"]
                    free.remove(best)
    return [scores[box["id"]] for box in truth["annotations"]]


def summary_of_pycocotools(truth, detections):
    """Average precision by IoU and class, -1 where there is none, as pycocotools sums it up."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = truth
        coco.createIndex()
        evaluation = COCOeval(coco, coco.loadRes(detections), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation.eval["precision"][:, :, :, 0, 2].mean(1).T, evaluation.stats[:2]


@pytest.mark.parametrize("seed", range(50))
def test_values_are_those_of_pycocotools(seed, tmp_path):
    rng = np.random.default_rng(seed)
    content = random_truth(rng)
    detections = random_detections(rng, content)
    first, second = written(tmp_path, truth=content, a=detections)
    truth = read_truth(first)
    matches = matched(truth, read_detections(second, truth))
    judged = ~truth.boxes["crowd"]
    boxes = np.bincount(truth.boxes["category"][judged], minlength=3)
    precision = class_precisions(matches, boxes)
    expected, (mean, at_half) = summary_of_pycocotools(content, detections)
    np.testing.assert_allclose(np.nan_to_num(precision, nan=-1), expected, atol=1e-12)
    np.testing.assert_allclose(
        [np.nanmean(precision), np.nanmean(precision[:, 0])], [mean, at_half]
    )
    scores = np.array(scores_that_find(content, detections))
    np.testing.assert_array_equal(matches.found_at[judged], scores[judged])


def test_an_image_left_out_counts_no_more(tmp_path):
    rng = np.random.default_rng(1)
    content = random_truth(rng)
    detections = random_detections(rng, content)
    gone = content["images"][0]["id"]
    less = content | {
        name: [row for row in content[name] if row.get("image_id", row["id"]) != gone]
        for name in ("images", "annotations")
    }
    rest = [row for row in detections if row["image_id"] != gone]
    truths = [read_truth(path) for path in written(tmp_path, truth=content, less=less)]
    files = written(tmp_path, a=detections, rest=rest)
    matches, expected = (
        matched(truth, read_detections(file, truth))
        for truth, file in zip(truths, files, strict=True)
    )
    boxes = truths[1].boxes
    counts = np.bincount(boxes["category"][~boxes["crowd"]], minlength=3)
    place = int(np.flatnonzero(truths[0].images["id"] == gone)[0])
    left_out = class_precisions(matches, counts, matches.image == place)
    np.testing.assert_array_equal(left_out, class_precisions(expected, counts))


def test_a_model_that_detects_nothing_finds_nothing(tmp_path):
    content = random_truth(np.random.default_rng(0))
    first, second = written(tmp_path, truth=content, none=[])
    truth = read_truth(first)
    matches = matched(truth, read_detections(second, truth))
    assert np.isneginf(matches.found_at).all()
    assert matches.hits.shape == (len(IOUS), 0)
    assert (class_precisions(matches, np.array([1, 2, 0]))[:2] == 0).all()
