"""One model against one: tables by hand, other libraries' figures, and what may not matter."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from tests.builders.populations import population
from tfaudit.audits.model_pair.model_pair import compare
from tfaudit.predictions import Predictions


@pytest.fixture
def pair():
    return population(1, members=1, examples=500), population(2, members=1, examples=500, hurt=(2,))


def test_every_class_and_all_examples_against_statsmodels_and_pandas(pair):
    before, after = pair
    found = compare(before, after)
    right = pd.DataFrame(
        {"label": before.labels, "b": before.correct()[0] == 1, "a": after.correct()[0] == 1}
    )
    for (_, rows), row in zip(
        right.groupby("label"), found.frame().to_dict("records"), strict=True
    ):
        table = pd.crosstab(rows["b"], rows["a"]).reindex(
            index=[False, True], columns=[False, True], fill_value=0
        )
        assert row["change_p"] == pytest.approx(mcnemar(table, exact=True).pvalue)
        assert (row["lost"], row["won"]) == (table.loc[True, False], table.loc[False, True])
        assert (row["recall_before"], row["recall_after"]) == pytest.approx(
            (rows["b"].mean(), rows["a"].mean())
        )
        assert row["change_low_pp"] < row["change_pp"] < row["change_high_pp"]
        images = rows["a"].astype(int) - rows["b"].astype(int)
        assert row["change_pp"] == pytest.approx(100 * images.mean())
    summary = found.summary()
    assert summary["change_p"] == pytest.approx(
        mcnemar(pd.crosstab(right["b"], right["a"]), exact=True).pvalue
    )
    assert summary["btc"] == pytest.approx(right[right["b"]]["a"].mean())
    assert summary["bec"] == pytest.approx(1 - right[~right["b"]]["a"].mean())
    assert summary["agreement"] == np.mean(before.top1 == after.top1)
    np.testing.assert_allclose(found.p_holm, multipletests(found.p, method="holm")[1])
    np.testing.assert_allclose(found.p_bh, multipletests(found.p, method="fdr_bh")[1])
    assert (summary["worst_class"], found.frame()["verdict"][2]) == ("2", "lost recall")


def test_flips_name_examples_classes_and_probabilities():
    names = {"class_names": ["cat", "dog", "owl"], "example_ids": ["x", "y", "z"]}
    before = Predictions([0, 1, 2], [[[0], [0], [1]]], [[[0.9], [0.8], [0.7]]], **names)
    after = Predictions([0, 1, 2], [[[1], [1], [0]]], **names)
    assert compare(before, after).flips_frame().to_dict("list") == {
        "index": [0, 1, 2],
        "example": ["x", "y", "z"],
        "label": ["cat", "dog", "owl"],
        "before": ["cat", "cat", "dog"],
        "after": ["dog", "dog", "cat"],
        "kind": ["lost", "won", "other wrong"],
        "share": [1.0, 1.0, 1.0],
        "probability_before": [0.9, 0.8, 0.7],
    }


def test_top5_overlap_counts_common_classes_whatever_their_rank():
    before, after = ([[[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]], [[[4, 3, 2, 1, 0], [0, 5, 6, 7, 8]]])
    found = compare(Predictions([0, 8], before), Predictions([0, 8], after))
    assert found.summary()["top5_overlap"] == pytest.approx((5 + 1) / 10)
    fewer = Predictions.from_top1([0, 1], [0, 1])
    assert np.isnan(compare(fewer, fewer).summary()["top5_overlap"])


def test_exchanging_the_models_mirrors_everything(pair):
    there, back = compare(*pair), compare(*pair[::-1])
    np.testing.assert_array_equal(there.lost, back.won)
    np.testing.assert_allclose(there.low, -back.high, atol=1e-12)
    np.testing.assert_array_equal(there.p, back.p)


def test_empty_classes_and_missing_denominators_are_nan_and_named():
    names = {"class_names": ["a", "b", "unseen"]}
    found = compare(
        Predictions.from_top1([0, 1], [0, 1], **names),
        Predictions.from_top1([0, 1], [0, 2], **names),
    )
    row = found.frame().iloc[2]
    figures = [
        "change_pp",
        "change_low_pp",
        "change_high_pp",
        "change_p",
        "change_p_holm",
        "change_p_bh",
        "p_mid",
    ]
    assert row[["recall_before", *figures, "relative_pp", "relative_p"]].isna().all()
    assert (row["verdict"], row["relative_verdict"]) == ("cannot tell", "cannot tell")
    assert (found.summary()["tested"], found.summary()["worst_class"]) == (2, "b")
    assert np.isnan(found.summary()["bec"])
    assert found.notes[0] == "1 class without test examples, not tested: unseen."
    assert "2 classes have fewer than 6 examples" in found.notes[1]
    assert "p <= 0.05" in found.notes[1]


def test_lost_recall_and_disproportion_are_two_questions():
    """Every class loses 20 of 100 images but the last, which loses 40: all lose recall, one more than the others."""
    labels = np.repeat(np.arange(5), 100)
    lost = np.arange(500) % 100 < np.where(labels == 4, 40, 20)
    after = np.where(lost, (labels + 1) % 5, labels)
    frame = compare(
        Predictions.from_top1(labels, labels), Predictions.from_top1(labels, after)
    ).frame()
    assert set(frame["verdict"]) == {"lost recall"}
    assert frame["relative_verdict"][4] == "worse than average"
    np.testing.assert_allclose(frame["change_pp"], [-20, -20, -20, -20, -40])
    np.testing.assert_allclose(frame["relative_pp"], [4, 4, 4, 4, -16])
    assert not frame["collapsed"].any()


def test_what_chance_gives_is_the_count_under_the_discrete_null(pair):
    """Classes that flip few images cannot be significant: 5 classes at .05 would be 0.25 by the level alone."""
    rng = np.random.default_rng(4)
    found = compare(*pair)
    changed = (found.lost + found.won).astype(int)[:, None]
    lost = rng.binomial(changed, 0.5, (5, 20_000))
    p = np.array([[mcnemar([[0, n], [c - n, 0]], exact=True).pvalue for n in range(c + 1)] + [1.0] * (200 - c)
                  for c in changed[:, 0]])  # fmt: skip
    significant = (np.take_along_axis(p, lost, 1) <= 0.05).sum(0)
    assert found.summary()["expected_by_chance"] == pytest.approx(significant.mean(), abs=0.01)
    assert found.summary()["expected_by_chance"] < 0.2
