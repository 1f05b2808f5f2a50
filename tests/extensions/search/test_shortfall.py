"""What stands in the way: sentences whose numbers are recomputed by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from tfaudit.audits.gate.gate import gate, judge
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.gate.measurements import measure
from tfaudit.extensions.search.smallest_file import shortfall
from tfaudit.predictions import Predictions

LABELS = np.repeat([0, 1], 200)
BEFORE = Predictions.from_top1(LABELS, LABELS)
TABLE = pd.DataFrame({"candidate": ["a", "b"], "title": ["A", "B"], "bytes": [900, 1200]})


def after(lost, won_back=0):
    """Predictions that lose some images of class 0."""
    found = LABELS.copy()
    found[:lost] = 1
    return Predictions.from_top1(LABELS, found)


def sentences(lost, limits, on_selection=None, sizes=(4000, 1000)):
    measured = measure(BEFORE, after(lost))
    return shortfall(judge(measured, limits, sizes), measured, on_selection or {}, TABLE)


def test_what_passes_needs_nothing():
    assert sentences(0, Limits(worst_class_drop_pp=50)) == ()


def test_a_limit_that_binds_is_named_with_the_end_of_the_interval():
    check = gate(BEFORE, after(30), Limits(worst_class_drop_pp=5)).checks[0]
    (binding,) = sentences(30, Limits(worst_class_drop_pp=5))[:1]
    assert binding == (
        f"Drop of worst class (class 0): 15.00 pp, and up to {check.high:.2f} pp by its interval, where 5.00 pp "
        f"is allowed; that is {check.high - 5:.2f} pp too much."
    )


def test_a_collapse_is_named_whatever_the_share_of_classes():
    assert sentences(190, Limits(share_beyond=1)) == (
        "Recall of class 0 collapsed, whatever the share of classes.",
    )


def test_the_number_of_images_is_the_smallest_whose_interval_lets_four_of_five_pass():
    limit = 2.0
    (needed,) = [
        text for text in sentences(12, Limits(worst_class_drop_pp=limit)) if "4 of 5" in text
    ]
    images = int(needed.split("about ")[1].split(" examples")[0].replace(",", ""))
    losses = measure(BEFORE, after(12)).classes
    per_image = np.mean(
        losses.of_images * losses.examples
    )  # squared points of one image, mean over the classes
    every = 0.8 ** (1 / len(losses.names))
    half_width = limit / (1 + norm.ppf(every) / norm.ppf(0.975))
    by_hand = (norm.ppf(0.975) / half_width) ** 2 * per_image
    assert images == pytest.approx(by_hand, rel=0.02)
    assert "here 200 do" in needed


def test_a_size_that_binds_names_the_smallest_candidate_that_keeps_to_the_other_limits():
    limits = Limits(worst_class_drop_pp=50, size_bytes=800)
    verdicts = {
        name: gate(BEFORE, after(0), limits, sizes=(4000, size))
        for name, size in (("b", 1200), ("a", 900))
    }
    binding, smallest = sentences(0, limits, verdicts)
    assert (
        binding
        == "Size on disk: 1,000 bytes where 800 bytes is allowed; that is 200 bytes too much."
    )
    assert smallest == "The smallest candidate that keeps to the other limits is A: 900 bytes."
    harmed = {"a": gate(BEFORE, after(150), limits, sizes=(4000, 900))}
    assert (
        sentences(0, limits, harmed)[1]
        == "No candidate keeps to the other limits, whatever its size."
    )
