"""One model against one: tables by hand, other libraries' figures, and what may not matter."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from tests.builders.populations import population
from tfaudit.audits.model_pair.model_pair import compare
from tfaudit.errors import InputError
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


def test_the_counts_add_up(pair):
    found = compare(*pair)
    summary, flips = found.summary(), found.flips_frame()
    assert summary["flips"] == len(flips) == round((1 - summary["agreement"]) * 500)
    assert flips["kind"].value_counts().to_dict() == {
        "lost": summary["negative_flips"],
        "won": summary["positive_flips"],
        "other wrong": summary["wrong_to_other_wrong"],
    }
    assert (found.lost.sum(), found.won.sum()) == (
        summary["negative_flips"],
        summary["positive_flips"],
    )
    assert summary["change_pp"] == pytest.approx(
        100 * (summary["accuracy_after"] - summary["accuracy_before"])
    )
    assert (flips["label"] == flips["before"]).equals(flips["kind"] == "lost")
    assert (flips["label"] == flips["after"]).equals(flips["kind"] == "won")
    assert (flips["before"] != flips["after"]).all()


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


def test_a_model_against_itself_has_no_flip_and_p_1(pair):
    found = compare(pair[0], pair[0])
    summary = found.summary()
    assert (summary["flips"], summary["change_p"], summary["agreement"]) == (0, 1, 1)
    assert (summary["btc"], summary["bec"], summary["top5_overlap"]) == (1, 1, 1)
    assert (found.p == 1).all()
    assert set(found.frame()["verdict"]) == {"no change"}
    assert summary["expected_by_chance"] == 0
    assert len(found.flips_frame()) == 0


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


def test_the_note_on_small_classes_tells_the_smallest_count_that_can_reach_alpha():
    def p_of_all_lost(count):
        labels = [0] * count
        models = (
            Predictions.from_top1(labels, [answer] * count, class_names="ab") for answer in (0, 1)
        )
        return compare(*models).p[0]

    assert p_of_all_lost(5) > 0.05 >= p_of_all_lost(6)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda pair: compare(*pair, margin_pp=0), "margin_pp: got 0, expected percentage points"),
        (
            lambda pair: compare(*pair).frame("fdr"),
            "correction: got 'fdr', expected 'none', 'holm' or 'bh'",
        ),
        (
            lambda pair: compare(population(0), pair[1]),
            "baseline: got 6 members.*`tfaudit.class_impact`",
        ),
        (
            lambda pair: compare(pair[0], population(0)),
            "compressed: got 6 members.*`tfaudit.exemplars`",
        ),
    ],
)
def test_bad_input_is_one_clear_line(pair, change, words):
    with pytest.raises(InputError, match=words) as refused:
        change(pair)
    assert "\n" not in str(refused.value)


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


def test_a_class_that_is_forgotten_has_collapsed_and_is_named_first():
    labels = np.repeat([0, 1, 2], [20, 200, 200])
    after = np.where((labels == 0) | (np.arange(420) % 2 == 0), 2, labels)
    frame = compare(
        Predictions.from_top1(labels, labels), Predictions.from_top1(labels, after)
    ).frame()
    assert list(frame["collapsed"]) == [True, True, False]
    np.testing.assert_array_equal(frame["lowest_recall"], frame["recall_after"])


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


def test_two_models_that_differ_by_noise_alone_are_flagged_in_at_most_alpha_of_the_classes():
    def p(seed):
        models = (population(seed + i, members=1, examples=4000, classes=80) for i in range(2))
        return compare(*models).p

    flagged = np.concatenate([p(seed) for seed in range(0, 16, 2)]) <= 0.05
    assert 0 < flagged.mean() <= 0.05  # the exact test is conservative
