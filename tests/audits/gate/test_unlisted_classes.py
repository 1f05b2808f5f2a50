"""A class without examples cannot pass if the user lists it; one that is only predicted is not judged."""

from pathlib import Path

import numpy as np
import pytest

from tfaudit import Limits, Predictions, gate
from tfaudit.audits.gate.measurements import measure


def sides(labels, before, after, **names):
    return (Predictions.from_top1(labels, side, **names) for side in (before, after))


@pytest.mark.parametrize(
    ("names", "outcome"), [({}, "pass"), ({"class_names": ["wrong", "right"]}, "cannot judge")]
)
def test_a_class_that_is_only_predicted_is_judged_if_it_is_listed(names, outcome):
    right = np.ones(2000, int)
    answers = np.where(np.arange(2000) % 10, 1, 0)
    verdict = gate(*sides(right, answers, answers, **names))
    assert verdict.outcome == outcome
    assert any("without test examples, not tested" in note for note in verdict.notes)


def test_classes_keep_their_figures_beside_one_that_is_only_predicted(rng):
    labels = rng.choice([0, 2, 3], 900)
    before, after = (
        np.where(rng.random(900) < right, labels, rng.integers(0, 4, 900)) for right in (0.9, 0.5)
    )
    after[labels == 3] = 1  # collapses into the class without examples
    found = measure(*sides(labels, before, after))
    every = measure(*sides(labels, before, after, class_names=list("abcd")))
    assert found.classes.names == ("0", "2", "3")
    rows = [0, 2, 3]
    for name in ("loss", "high", "examples"):
        for kind in ("classes", "precision"):
            own, all_four = (getattr(getattr(one, kind), name) for one in (found, every))
            np.testing.assert_array_equal(own, all_four[rows])
    assert found.collapsed.tolist() == every.collapsed[rows].tolist() == [False, False, True]
    assert found.blind_members.tolist() == [0, 0, 1]
    limits = Limits(worst_class_drop_pp=60)
    assert gate(*sides(labels, before, before), limits).outcome == "pass"
    assert gate(*sides(labels, before, after), limits).checks[0].subject == "3"


def test_files_and_studies_know_what_is_listed(tfaudit):
    answers = np.where(np.arange(2000) % 10, 1, 0)
    np.save("labels.npy", np.ones(2000, int)), np.save("a.npy", answers)
    np.save("scores.npy", np.eye(2)[answers])
    Path("names.txt").write_text("wrong\nright\n")

    def of(file):
        return ("--labels", "labels.npy", "--baseline", file, "--compressed", file)

    assert tfaudit("gate", *of("a.npy"))[0] == 0
    assert tfaudit("gate", *of("a.npy"), "--classes", "names.txt")[0] == 2
    assert tfaudit("gate", *of("scores.npy"))[0] == 2
    assert tfaudit("audit", *of("a.npy"), "--out", "study")[0] == 0
    assert tfaudit("gate", "study")[0] == 0
