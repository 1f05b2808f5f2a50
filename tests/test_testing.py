"""`assert_no_regression`: the gate's verdict as the failure of a test."""

import numpy as np
import pytest

from tfaudit import InputError, Limits, Predictions
from tfaudit.testing import assert_no_regression

LABELS = np.arange(1000) % 10
BEFORE = Predictions.from_top1(LABELS, LABELS)


def test_a_model_that_passes_is_silent():
    assert_no_regression(BEFORE, BEFORE, Limits(overall_drop_pp=1, worst_class_drop_pp=5))


def test_a_regression_names_the_class_and_shows_the_table():
    after = Predictions.from_top1(
        LABELS, np.where((LABELS == 3) & (np.arange(1000) < 400), 4, LABELS)
    )
    with pytest.raises(AssertionError) as failure:
        assert_no_regression(BEFORE, after, Limits(worst_class_drop_pp=5))
    message = str(failure.value)
    assert message.startswith("compressed: FAIL, 1,000 examples")
    assert "recall of class 3 falls by 40.00 points" in " ".join(message.split())
    assert max(map(len, message.splitlines())) <= 100
    assert "\x1b" not in message


def test_too_little_data_is_a_failure_unless_allowed():
    few = Predictions.from_top1(LABELS[:40], LABELS[:40])
    with pytest.raises(AssertionError, match=r"CANNOT JUDGE[\s\S]*could be decided"):
        assert_no_regression(few, few, Limits(worst_class_drop_pp=1))
    assert_no_regression(few, few, Limits(worst_class_drop_pp=1), allow_undecided=True)


def test_bad_input_is_no_regression():
    with pytest.raises(InputError):
        assert_no_regression(
            BEFORE, Predictions.from_top1(LABELS[:5], LABELS[:5]), Limits(overall_drop_pp=1)
        )
