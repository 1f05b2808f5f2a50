"""Accuracy and unfairness of members against scikit-learn and hand counts."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, recall_score

from tests.builders.populations import population
from tests.builders.studies import make_study
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.errors import InputError
from tfaudit.extensions.operating_points.operating_points import trade_offs
from tfaudit.extensions.operating_points.study_points import costs_and_accuracy

BEFORE, AFTER = population(1), population(2, hurt=[3])
FACTS = pd.DataFrame(
    {"sparsity": [0.0, 0.9], "technique": ["dense", "l1"]}, index=["dense", "pruned"]
)


@pytest.mark.parametrize(("name", "top"), [("range", np.max), ("mean-min", np.mean)])
def test_equals_scikit_learn(name, top):
    table = trade_offs({"dense": BEFORE, "pruned": AFTER}, FACTS, unfairness=name)
    assert list(table["variant"]) == ["dense"] * 6 + ["pruned"] * 6
    assert list(table["sparsity"]) == [0.0] * 6 + [0.9] * 6
    members = [*BEFORE.top1, *AFTER.top1]
    recalls = [recall_score(BEFORE.labels, answers, average=None) for answers in members]
    np.testing.assert_allclose(
        table["unfairness"], [top(recall) - recall.min() for recall in recalls]
    )
    np.testing.assert_allclose(
        table["accuracy"], [accuracy_score(BEFORE.labels, answers) for answers in members]
    )


def test_classes_without_examples_do_not_count():
    empty = population(1, empty=[2])
    table = trade_offs({"dense": empty}, FACTS, unfairness=len)
    assert list(table["unfairness"]) == [4.0] * 6
    assert trade_offs({"dense": empty}, FACTS)["unfairness"].between(0, 1).all()


def test_bad_input():
    with pytest.raises(
        InputError, match="unfairness: got 'gap', expected range, mean-min or a function"
    ):
        trade_offs({"dense": BEFORE}, FACTS, unfairness="gap")
    with pytest.raises(InputError, match="descriptions: got 'dense' twice"):
        trade_offs({"dense": BEFORE}, pd.concat([FACTS, FACTS]))


def test_trade_offs_are_those_of_every_member(tmp_path):
    store = make_study(tmp_path)
    table = costs_and_accuracy(StudyAudit.read(store))
    assert list(table["variant"]) == [
        key for key in ("dense", "magnitude-0.9", "int8") for _ in range(4)
    ]
    assert list(table.columns)[2:7] == ["title", "technique", "sparsity", "bytes", "gzipped kB"]
    recall = store.predictions("int8").recall()
    np.testing.assert_allclose(table["unfairness"][-4:], recall.max(1) - recall.min(1))
    assert isinstance(table["gzipped kB"].sum(), float)
    assert pd.isna(table["sparsity"].iloc[-1])
