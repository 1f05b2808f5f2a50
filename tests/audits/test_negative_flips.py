"""Negative flips of populations: against brute force, the pigeonhole bootstrap and simulated studies."""

import numpy as np
import pytest
from scipy import stats

from tests.builders.populations import population
from tfaudit.audits.flips.declaration import rate_findings
from tfaudit.audits.flips.negative_flips import flip_rates
from tfaudit.audits.gate.gate import gate
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.groups.groups import groups
from tfaudit.predictions import Predictions
from tfaudit.stats.flips import negative_flips

BEFORE, AFTER = population(1), population(2, hurt=[3])


@pytest.mark.parametrize("paired", [False, True])
def test_rates_are_means_over_pairs_of_models(paired):
    table = flip_rates(BEFORE, AFTER, paired=paired).frame()
    before, after, labels = BEFORE.correct() == 1, AFTER.correct() == 1, BEFORE.labels
    pairs = (
        list(zip(before, after, strict=True)) if paired else [(a, b) for a in before for b in after]
    )
    twins = [(a, b) for i, a in enumerate(before) for j, b in enumerate(before) if i != j]
    for row, inside in [(0, labels >= 0), *((c + 1, labels == c) for c in range(5))]:
        expected = [np.mean([(a & ~b)[inside] for a, b in some]) for some in (pairs, twins)]
        expected.append(np.mean([(b & ~a)[inside] for a, b in pairs]))
        figures = table.loc[row, ["negative_share", "retrained_share", "positive_share"]].astype(
            float
        )
        np.testing.assert_allclose(figures, expected)
        excess = np.nan if paired else 100 * (expected[0] - expected[1])
        np.testing.assert_allclose(table["excess_pp"][row], excess)
    np.testing.assert_allclose(
        table["relative_pp"][1:], 100 * (table["negative_share"][1:] - table["negative_share"][0])
    )


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("clusters", [None, np.arange(200) // 4])
def test_the_table_has_the_interval_of_the_gate(members, clusters):
    """It was symmetric, 0 to .64 % of 3 in 1,000; the gate's is exact, or that of rare events."""
    sides = [population(seed, members=members) for seed in (1, 2)]
    sides = [Predictions(side.labels, side.ranked, clusters=clusters) for side in sides]
    (check,) = gate(*sides, Limits(negative_flips=0.1)).checks
    row = flip_rates(*sides).frame().iloc[0]
    shown = row[["negative_share", "negative_low", "negative_high"]].tolist()
    assert shown == [check.value, check.low, check.high]
    if members == 1 and clusters is None:
        lost = round(200 * check.value)
        assert shown[1:] == pytest.approx(tuple(stats.binomtest(lost, 200).proportion_ci()))


def test_an_accuracy_of_a_single_model_has_the_exact_interval():
    before, after = (population(seed, members=1) for seed in (1, 2))
    table = groups(before, after, before.labels % 2).frame()
    for side, model in (("before", before), ("after", after)):
        for row in table.itertuples():
            inside = before.labels % 2 == int(row.group)
            exact = stats.binomtest(int(model.correct()[0, inside].sum()), int(inside.sum()))
            shown = getattr(row, f"{side}_low"), getattr(row, f"{side}_high")
            assert shown == pytest.approx(tuple(exact.proportion_ci()))


@pytest.mark.parametrize("paired", [True, False])
def test_widths_are_those_of_the_pigeonhole_bootstrap(paired, rng):
    """Members and images resampled apart; the bootstrap counts their interaction three times, which is taken off."""
    ease = rng.normal(1.2, 1.2, 300)
    before = ease + rng.normal(0, 0.2, (20, 1)) + rng.normal(0, 0.7, (20, 300)) > 0
    noise = rng.normal(0, 0.2, (20, 1)) + rng.normal(0, 0.7, (20, 300))
    after = (before & (noise + ease > 0)) if paired else (ease - 0.3 + noise > 0)
    rates = []
    for _ in range(2000):
        first = rng.integers(20, size=20)
        second = first if paired else rng.integers(20, size=20)
        images = rng.integers(300, size=300)
        if paired:
            rates.append((before & ~after)[first].mean(0)[images].mean())
        else:
            rates.append((before[first].mean(0) * (1 - after[second].mean(0)))[images].mean())
    change = negative_flips(before, after, np.zeros(300, int), 1, paired=paired).absolute
    expected = np.sqrt(np.var(rates) - 2 * change.overlap[0])
    assert change.error[0] == pytest.approx(expected, rel=0.1)


def test_the_finding_claims_more_than_training_again_only_where_the_excess_is_shown():
    unclear, worse = population(3), population(2, hurt=[3, 4], noise=1.5)
    found = {after: flip_rates(BEFORE, after) for after in (unclear, worse)}
    for after, words in ((unclear, "may be chance"), (worse, "less than compression")):
        whole = found[after].frame().iloc[0]
        assert (whole["excess_p"] <= 0.05) == (after is worse)
        (sentence,) = rate_findings("int8", found[after])
        assert words in sentence
        again = f"training again gives {100 * whole['retrained_share']:.1f} %"
        assert sentence.startswith(f"int8: {100 * whole['negative_share']:.1f} % of the examples")
        assert again in sentence
    hit = found[worse].frame().query("verdict == 'more than average'")["class"]
    (sentence,) = rate_findings("int8", found[worse])
    assert f"More than the average in {', '.join('class ' + name for name in hit)}." in sentence
    (paired,) = rate_findings("int8", flip_rates(BEFORE, AFTER, paired=True))
    assert "training again gives" in paired
    assert "chance" not in paired
    single = rate_findings("int8", flip_rates(population(1, members=1), population(2, members=1)))
    assert "training again" not in next(single)
