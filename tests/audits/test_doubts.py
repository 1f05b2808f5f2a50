"""What forbids a verdict: baselines and compressed models that are not what the labels take them for."""

import numpy as np
import pytest

from tfaudit.audits.classes.classes import class_impact
from tfaudit.audits.doubts import ACCURACY, ORDER, OUTPUTS, accuracy_by_chance
from tfaudit.audits.gate.gate import gate
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.gate.measurements import measure
from tfaudit.audits.model_pair.model_pair import compare
from tfaudit.audits.verdict.study_verdict import study_verdict
from tfaudit.predictions import Predictions

LABELS = np.repeat(np.arange(10), 40)
NAMES = tuple("abcdefghij")
SWAPPED = np.array([0, 1, 5, 3, 4, 2, 6, 7, 8, 9])
LIMITS = Limits(overall_drop_pp=15)
RNG = np.random.default_rng(0)
RIGHT = np.where(RNG.random(400) < 0.92, LABELS, (LABELS + 1) % 10)
HALF = np.where(RNG.random(400) < 0.5, LABELS, (LABELS + 1 + np.arange(400) % 9) % 10)
SHUFFLED = RNG.permutation(RIGHT)
BLIND = np.where(np.isin(RIGHT, [2, 5]), 0, RIGHT)  # never predicts two classes


def of(*members):
    return Predictions.from_top1(LABELS, np.array(members), class_names=NAMES)


CASES = {
    "nothing": ([RIGHT], [RIGHT], ""),
    "weak": ([HALF], [HALF], ""),
    "harmed": ([RIGHT], [BLIND], ""),
    "worse than chance": ([RIGHT], [SHUFFLED], ""),
    "constant": ([RIGHT], [np.zeros(400, int)], ""),
    "swapped": ([SWAPPED[RIGHT]], [SWAPPED[BLIND]], ORDER),
    "a swapped member": ([RIGHT, SWAPPED[RIGHT]], [RIGHT, RIGHT], ORDER),
    "rolled": ([(RIGHT + 1) % 10], [(RIGHT + 1) % 10], ORDER),
    "shuffled": ([SHUFFLED], [SHUFFLED], ACCURACY),
    "a shuffled member": ([RIGHT, RIGHT, SHUFFLED], [RIGHT, RIGHT, SHUFFLED], ACCURACY),
    "a file of another order": ([RIGHT], [SWAPPED[RIGHT]], OUTPUTS),
    "a gain": ([HALF], [RIGHT], ACCURACY),
    "gains": ([HALF, HALF], [RIGHT, RIGHT], ACCURACY),
}


@pytest.mark.parametrize("case", CASES)
def test_a_doubt_forbids_a_verdict(case):
    *sides, name = CASES[case]
    before, after = (of(*members) for members in sides)
    judged = gate(before, after, LIMITS)
    assert [doubt.name for doubt in judged.doubts] == [name] * bool(name)
    if not name:
        assert judged.checks[0].name == "overall_drop_pp"
        return
    (doubt,) = judged.doubts
    assert (judged.outcome, judged.exit_code, judged.headroom) == ("cannot judge", 2, -np.inf)
    assert [check.sentence for check in judged.checks] == [doubt.sentence]
    assert judged.summary()["doubts"][0]["reason"] == doubt.reason
    assert (compare if len(sides[0]) == 1 else class_impact)(before, after).doubts == (doubt,)
    if name in (ORDER, OUTPUTS) and case != "rolled":
        assert "a, b, f, d, e, c, g, h, i, j." in doubt.reason
        assert doubt.order == tuple("abfdecghij")
        assert doubt.limit == pytest.approx((RIGHT == LABELS).mean())


def test_members_are_named():
    (doubt,) = gate(of(RIGHT, SWAPPED[RIGHT]), of(RIGHT, RIGHT), LIMITS).doubts
    assert doubt.reason.startswith("Member 1 of the baseline is right on ")


def test_the_order_of_many_classes_is_told_by_those_that_move():
    labels = np.repeat(np.arange(12), 40)
    order = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 10])
    told = Predictions.from_top1(labels, order[labels])
    (doubt,) = gate(told, told, LIMITS).doubts
    assert doubt.reason.endswith("if its outputs were 11 instead of 10, 10 instead of 11.")
    assert doubt.order == tuple(map(str, order))


def test_a_doubt_about_the_baseline_is_the_headline_of_its_study():
    measured = {"a": measure(of(HALF), of(RIGHT)), "b": measure(of(HALF), of(HALF))}
    verdict = study_verdict(measured, limits=LIMITS)
    assert verdict.headline.startswith("Cannot judge. The baseline is right on ")
    assert set(verdict.frame()["outcome"]) == {"cannot judge"}
    assert (verdict.best, verdict.lead, verdict.alerts) == (None, None, ())
    compressed = {"a": of(SWAPPED[RIGHT]), "b": of(RIGHT)}
    measured = {key: measure(of(RIGHT), one, variants=2) for key, one in compressed.items()}
    verdict = study_verdict(measured, limits=LIMITS)
    assert verdict.frame()["outcome"].tolist() == ["cannot judge", "pass"]
    assert verdict.alerts[0].startswith("a: The compressed model is right on ")
    assert "Do not ship" not in verdict.headline


def test_chance_gives_no_more_than_everything():
    """Three films of two images: an interval over so few clusters reaches beyond 100 %."""
    labels, films = [0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 2, 2]
    few = Predictions.from_top1(labels, labels, clusters=films)
    assert accuracy_by_chance(few, 0.05, few.clusters)[1] == 1
    (doubt,) = gate(few, few, LIMITS).doubts
    assert doubt.sentence.endswith(
        "up to 100.00 %. There are too few examples, or clusters of examples, to tell."
    )
