"""Variants side by side: against pandas, SciPy, statsmodels and simulated studies without any effect."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from tests.builders.nightly import and_nightly
from tests.builders.populations import pies_of, population
from tests.builders.simulated_studies import TRUTHS, simulate
from tfaudit.audits.accuracies.accuracies import accuracies
from tfaudit.audits.claims.claims import claims
from tfaudit.audits.class_recalls.class_recalls import class_recalls
from tfaudit.audits.classes.classes import class_impact
from tfaudit.audits.difficulty.difficulty import difficulty_levels
from tfaudit.audits.exemplars.exemplars import exemplars
from tfaudit.audits.model_pair.model_pair import compare
from tfaudit.audits.summary.summary import summary
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions

BEFORE = population(1)
VARIANTS = {"a": population(2, hurt=[3]), "b": population(3, noise=1.4), "same": BEFORE}


def test_claims_are_corrected_for_all_variants_and_classes():
    frames = {title: class_impact(BEFORE, after).frame() for title, after in VARIANTS.items()}
    result = claims(frames)
    p = np.concatenate([frame["change_p"] for frame in frames.values()])
    for method, column in (("holm", "p_holm_all"), ("fdr_bh", "p_bh_all")):
        np.testing.assert_allclose(result.cell_frame()[column], multipletests(p, method=method)[1])
    own = np.concatenate(
        [multipletests(frame["change_p"], method="holm")[1] for frame in frames.values()]
    )
    np.testing.assert_allclose(result.cell_frame()["p_holm_own"], own)
    rows = result.frame().set_index("title")
    assert (rows["uncorrected"] >= rows["holm_own"]).all()
    assert (rows["holm_own"] >= rows["holm_all"]).all()
    assert (rows["bh_all"] >= rows["holm_all"]).all()
    assert not rows.loc["same", ["uncorrected", "bh_all"]].any()
    assert rows.loc["a", "lost_all"] == 1
    assert result.notes == ("15 tests: corrections are for all of them, of 3 variants.",)
    assert claims({"a": frames["a"]}).frame()["holm_all"][0] == rows.loc["a", "holm_own"]


def test_claims_of_single_models_and_of_classes_without_images():
    one = [Predictions(p.labels, p.ranked[:1]) for p in (BEFORE, VARIANTS["a"])]
    assert claims({"pair": compare(*one).frame()}).frame()["tested"][0] == 5
    empty = [population(i, empty=[2]) for i in (1, 2)]
    result = claims({"a": class_impact(*empty).frame()})
    assert result.frame()["tested"][0] == 4
    assert result.summary()["tested"] == 4
    result.chart().to_dict()


def test_variants_of_other_classes_are_refused():
    frame = class_impact(BEFORE, VARIANTS["a"]).frame()
    with pytest.raises(InputError, match="changes: got variants of different classes"):
        claims({"a": frame, "b": frame.iloc[:3]})
    with pytest.raises(InputError, match="changes: got none"):
        claims({})


@pytest.mark.slow
@pytest.mark.parametrize("studies", and_nightly([8], [200]))
def test_families_without_effect_hardly_ever_hold_a_claim(studies):
    """Eight variants of ten classes each, none with an effect: own corrections add up, one for all does not."""
    own, together = [], []
    for seed in range(studies):
        frames = {}
        for variant in range(8):
            pair = simulate(
                TRUTHS["nothing changes, pairs"], 100 * seed + variant, members=5, images=60
            )
            frames[str(variant)] = class_impact(*pair).frame()
        rows = claims(frames).frame()
        own.append(rows["holm_own"].any())
        together.append(rows["holm_all"].any())
    assert np.mean(together) <= 0.1
    assert np.mean(together) <= np.mean(own)


def test_difficulty_is_that_of_every_variants_exemplars():
    result = difficulty_levels(
        {title: exemplars(BEFORE, after) for title, after in VARIANTS.items()}
    )
    table = result.frame().set_index("title")
    compressed = result.tables()["The compressed models on the same images"].set_index("title")
    for title, after in VARIANTS.items():
        pie = pies_of(BEFORE, after)
        assert table.loc[title, "pies"] == pie.sum()
        for group, inside in (("pies", pie), ("non_pies", ~pie), ("all", pie | ~pie)):
            for k in (1, 5):
                for rows, side in ((table, BEFORE), (compressed, after)):
                    expected = side.correct(k)[:, inside].mean() if inside.any() else np.nan
                    np.testing.assert_allclose(rows.loc[title, f"top{k}_{group}"], expected)
    assert np.isnan(table.loc["same", "top1_pies"])
    assert result.summary()["most_pies"] == table["pies"].idxmax()


def test_recalls_over_levels():
    before = pd.Series(BEFORE.recall().mean(0))
    before.attrs["class_names"] = list("abcde")
    recall = {title: VARIANTS[title].recall().mean(0) for title in ("a", "b")}
    rows = pd.DataFrame(
        [
            {"method": "m", "level": s, **dict(enumerate(recall[t]))}
            for t, s in (("b", 0.9), ("a", 0.5))
        ]
    )
    result = class_recalls(rows, before)
    frame = result.frame()
    assert list(frame["level"].unique()) == [0, 0.5, 0.9]
    assert list(frame["class"][:5]) == list("abcde")
    np.testing.assert_allclose(frame["recall"], np.concatenate([before, recall["a"], recall["b"]]))
    np.testing.assert_allclose(frame["change_pp"][5:10], 100 * (recall["a"] - before))
    expected = stats.spearmanr(before, recall["b"]).statistic
    assert result.summary()["rank_correlation"]["m"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (pd.DataFrame(columns=["method", "level", 0]), "recalls: got no rows"),
        (pd.DataFrame({"method": ["m"], "level": [0.5]}), "recalls: got no column 0"),
        (pd.DataFrame({"method": ["m"], "level": [0.0], 0: [0.5]}), r"level: got 0\.0"),
    ],
)
def test_recalls_that_cannot_be_joined(rows, message):
    with pytest.raises(InputError, match=message):
        class_recalls(rows, pd.Series([0.5]))


def test_ranks_that_are_always_right_tell_nothing():
    rows = [("a", member, k, 1.0) for member in (0, 1) for k in (1, 5)]
    table = pd.DataFrame(rows, columns=["title", "member", "k", "accuracy"])
    assert accuracies(table).frame()["rank"].tolist() == ["top-1"]


def test_accuracies_of_the_members():
    before, after = (population(seed, classes=7, noise=2) for seed in (1, 2))
    result = accuracies(summary({"dense": before, "a": after}, permutations=0).accuracies)
    rows = result.frame().set_index(["title", "rank"])
    top1 = after.accuracy()
    expected = [6, top1.mean(), top1.std(ddof=1), top1.min(), np.median(top1), top1.max()]
    np.testing.assert_allclose(rows.loc[("a", "top-1")].astype(float), expected)
    assert rows.index.to_list() == [(title, f"top-{k}") for title in ("dense", "a") for k in (1, 5)]
    with pytest.raises(InputError, match="table: got no k, accuracy"):
        accuracies(pd.DataFrame({"title": ["a"], "member": [0]}))
