"""The table of classes against scikit-learn, pandas and hand counts."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import recall_score

from tests.builders.populations import population
from tests.builders.refusals import assert_refused
from tfaudit.extensions.factors.class_table import class_table
from tfaudit.predictions import Predictions

BEFORE, AFTER = population(1), population(2, hurt=[3])
FACTS = pd.DataFrame(
    {"sparsity": [0.0, 0.9], "technique": ["dense", "l1"]}, index=["dense", "pruned"]
)
BOTH = {"dense": BEFORE, "pruned": AFTER}
CLASSES = pd.DataFrame(
    {"class": [*"43210"], "train_examples": [50, 10, 20, 10, 10], "entropy_bits": [4, 3, 2, 1, 0.5]}
)


def test_one_row_per_variant_member_and_class():
    table = class_table(BOTH, FACTS, CLASSES)
    assert table.columns.to_list() == [
        *("variant", "member", "class", "dataset", "model", "weight_treatment", "technique"),
        *("sparsity", "accuracy", "correct", "examples", "accuracy0", "accuracy0_quartile"),
        *("imbalance", "class_entropy"),
    ]
    assert len(table) == len(table.drop_duplicates(["variant", "member", "class"])) == 6 * 5
    # [P] explains pruned models; the baseline is a covariate.
    facts = table[["variant", "technique", "sparsity"]].drop_duplicates()
    assert facts.to_numpy().tolist() == [["pruned", "l1", 0.9]]
    assert table["dataset"].isna().all()


def test_accuracies_equal_scikit_learn():
    table = class_table(BOTH, FACTS)
    for name, each in (("accuracy", AFTER), ("accuracy0", BEFORE)):
        reference = [recall_score(each.labels, answers, average=None) for answers in each.top1]
        assert_allclose(table[name], np.concatenate(reference))
    assert_allclose(table["correct"] / table["examples"], table["accuracy"])
    assert table["correct"].sum() == AFTER.correct().sum()


def test_quartiles_equal_pandas():
    many = [population(seed, classes=40, examples=2000) for seed in (1, 2)]
    table = class_table(dict(zip("ab", many, strict=True)), FACTS, baseline="a")
    for _, rows in table.groupby("member"):
        edges = rows["accuracy0"].quantile([0, 0.25, 0.5, 0.75, 1])
        assert edges.is_unique
        expected = pd.qcut(rows["accuracy0"], 4, labels=False) + 1
        assert_array_equal(rows["accuracy0_quartile"], expected)


def test_equal_recalls_share_the_lowest_quartile():
    perfect = Predictions.from_top1([0, 1, 2], [[0, 1, 2]])
    table = class_table({"dense": perfect, "pruned": perfect}, FACTS)
    assert table["accuracy0_quartile"].tolist() == [1, 1, 1]


def test_members_without_a_namesake_take_the_mean_of_the_baseline():
    after = Predictions(AFTER.labels, AFTER.ranked[:2], members=(4, "other"))
    table = class_table({"dense": BEFORE, "pruned": after}, FACTS)
    assert_allclose(table["accuracy0"], np.r_[BEFORE.recall()[4], BEFORE.recall().mean(0)])


def test_covariates_are_joined_by_the_name_of_the_class():
    table = class_table(BOTH, FACTS, CLASSES).drop_duplicates("class").set_index("class")
    assert_allclose(table["imbalance"][[*"01234"]], [-0.1, -0.1, 0.0, -0.1, 0.3], atol=1e-15)
    assert table["class_entropy"].to_dict() == {"0": 0.5, "1": 1.0, "2": 2.0, "3": 3.0, "4": 4.0}


def test_half_known_classes():
    table = class_table(BOTH, FACTS, CLASSES.drop(columns="entropy_bits"))
    assert table["class_entropy"].isna().all()
    assert table["imbalance"].notna().all()


def test_classes_without_test_examples_have_no_accuracy():
    table = class_table(
        {"dense": population(1, empty=[2]), "pruned": population(2, empty=[2])}, FACTS
    )
    rows = table[table["class"] == "2"]
    assert rows[["accuracy", "accuracy0", "accuracy0_quartile"]].isna().all(axis=None)
    assert (rows[["correct", "examples"]] == 0).all(axis=None)
    assert table["accuracy"].notna().sum() == 6 * 4


@pytest.mark.parametrize(
    ("populations", "facts", "classes", "message"),
    [
        (
            {"pruned": AFTER},
            FACTS,
            None,
            "baseline: got 'dense', expected one of the populations \\(pruned\\)",
        ),
        ({"dense": BEFORE}, FACTS, None, "populations: got only the baseline 'dense'"),
        (BOTH, pd.concat([FACTS, FACTS]), None, "descriptions: got two rows of 'dense'"),
        (
            {"dense": BEFORE, "x": population(2, examples=100)},
            FACTS,
            None,
            "compressed: got 100 examples, expected 200",
        ),
        (
            BOTH,
            FACTS,
            CLASSES.drop(columns="class"),
            "columns train_examples, entropy_bits, expected a column `class`",
        ),
        (
            BOTH,
            FACTS,
            CLASSES.iloc[1:],
            "classes: got 4 rows, expected one row for each of the 5 predicted classes",
        ),
        (
            BOTH,
            FACTS,
            CLASSES.assign(train_examples=0),
            "classes: got invalid train_examples, expected counts",
        ),
    ],
)
def test_bad_input(populations, facts, classes, message):
    assert_refused(message, class_table, populations, facts, classes)
