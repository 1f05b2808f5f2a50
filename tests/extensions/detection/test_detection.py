"""Losses of a compressed detector, its verdicts, and what forbids one."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from tests.builders.refusals import assert_refused
from tests.extensions.detection.random_boxes import random_pair
from tfaudit.extensions.detection.detection import detect
from tfaudit.extensions.detection.limits import BoxLimits
from tfaudit.extensions.detection.matching import best_threshold, matched
from tfaudit.stats.changes import group_changes

ALL = BoxLimits(box_recall_drop_pp=5, false_positives_per_image=0.5, map_drop_pp=2)


def test_losses_by_class_size_and_group_are_those_of_outcomes_over_images(tmp_path):
    truth, before, after = random_pair(tmp_path, images=120, miss=0.3)
    result = detect(truth, [before], [after], threshold=0.3, groups=truth.groups[["night"]])
    table = result.frame()
    assert table["kind"].unique().tolist() == ["all", "class", "size", "night"]
    judged = ~truth.boxes["crowd"].to_numpy()
    boxes = truth.boxes[judged]
    found = [matched(truth, side).found_at[None, judged] >= 0.3 for side in (before, after)]
    groups = {
        "class": (boxes["category"].to_numpy(), 3),
        "size": (np.digitize(boxes["area"], [32**2, 96**2]), 2),
        "night": (truth.groups["night"][judged].to_numpy(), 2),
    }
    for kind, (codes, count) in groups.items():
        change = group_changes(
            *found, codes, count, paired=False, clusters=boxes["image"].to_numpy()
        ).absolute
        rows = table[table["kind"] == kind]
        np.testing.assert_allclose(rows["change_pp"], 100 * change.value)
        np.testing.assert_allclose(rows["change_low_pp"], 100 * change.interval()[0])
    wrong = np.bincount(boxes["image"], found[0][0] & ~found[1][0], minlength=120).sum()
    assert (result.found[0] - result.found[1])[judged].clip(0).sum() == wrong
    assert np.isnan(result.found[:, ~judged]).all()


def test_false_positives_are_counted_by_class_at_the_threshold(tmp_path):
    truth, before, after = random_pair(tmp_path)
    result = detect(truth, [before], [after], threshold=0.6)
    for name, side in (("false_before", before), ("false_after", after)):
        matches = matched(truth, side)
        wrong = matches.counted[0] & ~matches.hits[0] & (matches.score >= 0.6)
        rates = [wrong.sum(), *np.bincount(matches.category[wrong], minlength=3)]
        np.testing.assert_allclose(result.table[name][:4], np.array(rates) / 60)
    assert result.false_positives[1, 0] == pytest.approx(result.table["false_after"][0])
    assert (np.diff(result.false_positives[:, [1, 0, 2]]) > 0).all()


def test_the_best_threshold_is_that_of_the_largest_f1(tmp_path):
    truth, before, _ = random_pair(tmp_path, images=20)
    boxes = int((~truth.boxes["crowd"]).sum())
    matches = matched(truth, before)

    def f1(threshold):
        shown = matches.counted[0] & (matches.score >= threshold)
        return 2 * (matches.hits[0] & shown).sum() / (shown.sum() + boxes)

    best = best_threshold([matches], boxes)
    assert f1(best) == max(map(f1, np.unique(matches.score)))


def test_the_interval_of_map_is_that_of_a_jackknife_by_hand(tmp_path):
    truth, before, after = random_pair(tmp_path, images=30, miss=0.3)
    drops = []
    for image in [None, *range(30)]:
        rest = truth.boxes["image"] != image
        boxes = truth.boxes.assign(crowd=truth.boxes["crowd"] | ~rest)[rest]
        part = dataclasses.replace(
            truth, boxes=boxes.reset_index(drop=True), groups=truth.groups[rest]
        )
        sides = ([side[side["image"] != image].reset_index(drop=True)] for side in (before, after))
        drops.append(detect(part, *sides).precisions[0].loss[0])
    result = detect(truth, [before], [after]).precisions[0]
    others = np.array(drops[1:])
    error = np.sqrt(29 / 30 * np.square(others - others.mean()).sum())
    assert result.loss[0] == pytest.approx(drops[0])
    assert (result.high[0] - result.low[0]) / 2 == pytest.approx(2.04523 * error, rel=1e-4)


@pytest.mark.parametrize(("images", "outcome"), [(250, "pass"), (12, "cannot judge")])
def test_a_model_compared_with_itself_passes_if_there_are_enough_images(tmp_path, images, outcome):
    truth, before, _ = random_pair(tmp_path, images=images)
    limits = dataclasses.replace(ALL, false_positives_per_image=9)
    verdict = detect(truth, [before], [before]).verdict(limits)
    assert {check.outcome for check in verdict.checks} == {outcome}
    assert verdict.examples == images


def test_a_harmed_model_fails_every_limit_and_says_boxes_and_images(tmp_path):
    truth, before, after = random_pair(tmp_path, images=200, miss=0.5, noise=4)
    verdict = detect(truth, [before], [after]).verdict(ALL)
    assert verdict.exit_code == 1
    assert verdict.frame()["outcome"].tolist() == ["fail"] * 3
    sentences = dict(zip(verdict.frame()["check"], verdict.frame()["sentence"], strict=True))
    assert "3 of 3 classes fail" in sentences["box_recall_drop_pp"]
    assert "before compression, limit 0.5." in sentences["false_positives_per_image"]
    assert "The mean average precision falls by" in sentences["map_drop_pp"]
    assert verdict.labelled_frame()["title"].str.len().min() > 3
    assert (verdict.classes["outcome"] == "fail").all()


def test_pairs_of_members_are_narrower_than_independent_ones(tmp_path):
    truth, first, _ = random_pair(tmp_path, images=80)
    before = [first, first.iloc[: len(first) * 4 // 5]]  # the second finds less
    widths = {
        paired: detect(truth, before, before, paired=paired, threshold=0.2).precisions[0]
        for paired in (True, False)
    }
    assert widths[True].high - widths[True].low < widths[False].high - widths[False].low
    assert_refused(
        "one model against one, or populations", detect, truth, before, before[:1], threshold=0.2
    )


def _as_corners(rows):
    """What xywh that is read as xyxy looks like: boxes in the upper left corner."""
    return rows.assign(width=rows["x"] + rows["width"], height=rows["y"] + rows["height"])


def _moved(rows):
    return rows.assign(x=rows["x"] + rows["width"] / 2, y=rows["y"] + rows["height"] / 2)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_as_corners, "would find .* if its boxes were x1, y1, x2, y2"),
        (_moved, "would find .* if x and y were the centre"),
        (
            lambda rows: rows[rows["category"] > 0].assign(category=lambda r: r["category"] - 1),
            "if its classes were one higher",
        ),
        (lambda rows: rows.head(20), "finds nearly nothing"),
    ],
)
def test_what_the_baseline_may_mean_otherwise_forbids_a_verdict(tmp_path, change, reason):
    truth, before, _ = random_pair(tmp_path, images=120)
    before = change(before).reset_index(drop=True)
    verdict = detect(truth, [before], [before]).verdict()
    assert verdict.outcome == "cannot judge"
    assert pd.Series([verdict.doubts[0].sentence]).str.contains(reason).all()
    assert verdict.frame()["sentence"].tolist() == [verdict.doubts[0].sentence]


def test_compression_that_helps_much_is_in_doubt(tmp_path):
    truth, before, after = random_pair(tmp_path, images=100, miss=0.5, noise=5)
    [doubt] = detect(truth, [after], [before]).verdict().doubts
    assert "which compression does not do" in doubt.sentence


def test_classes_without_boxes_are_named_and_not_judged(tmp_path):
    truth, before, _ = random_pair(tmp_path)
    more = pd.DataFrame({"id": [99], "name": ["zebra"]})
    other = dataclasses.replace(truth, categories=pd.concat([truth.categories, more]))
    result = detect(other, [before], [before])
    assert "zebra" not in set(result.table["name"])
    assert "Without true boxes, and not judged: zebra." in result.notes
    expected = detect(truth, [before], [before]).precisions[0]
    assert result.precisions[0].before == expected.before


def test_bad_arguments_are_refused(tmp_path):
    truth, before, _ = random_pair(tmp_path, images=5)
    crowds = dataclasses.replace(truth, boxes=truth.boxes.assign(crowd=True))
    assert_refused("truth: got no true boxes", detect, crowds, [before], [before])
    assert_refused("_image: got -1, expected", BoxLimits, false_positives_per_image=-1)
