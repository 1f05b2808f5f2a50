"""The increase of a mean error: Student's paired interval, with an upper end that allows for skewness."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tests.builders.nightly import and_nightly
from tests.builders.simulated_errors import KINDS, error_rates
from tfaudit import InputError, Limits, Outcomes, gate
from tfaudit.audits.gate.measurements import measure_outcomes
from tfaudit.stats.skewed_mean import upper_quantile

STUDIES = int(os.environ.get("TFAUDIT_TRIALS", "400"))


def increase(before, after, **sides):
    return measure_outcomes(
        Outcomes(before, errors=True, **sides), Outcomes(after, errors=True, **sides)
    ).overall


def test_one_model_against_one_has_students_paired_interval(rng):
    before = rng.gamma(2, 3, 300)
    after = np.maximum(before + rng.choice([-1, 1], 300) * rng.random(300), 0)
    found = increase(before, after)
    test = stats.ttest_rel(after, before)
    low, high = test.confidence_interval()
    assert found.loss[0] == pytest.approx(after.mean() - before.mean())
    assert found.p[0] == pytest.approx(test.pvalue, rel=1e-6)
    assert found.low[0] == pytest.approx(low)
    q = stats.t.ppf(0.975, 299)
    a = max(stats.skew(after - before), 0) / (6 * np.sqrt(300))
    error = (high - low) / 2 / q
    chen = q + a * (1 + 2 * q**2) + 4 * a**2 * (q + 2 * q**3)
    assert found.high[0] == pytest.approx(after.mean() - before.mean() + chen * error)
    again = increase(after, before)  # skewed to the other side, or both ends are Student's
    assert min(again.high[0] + found.low[0], 0) == pytest.approx(0, abs=1e-12)


def test_equal_clusters_have_the_interval_of_their_means(rng):
    clusters = np.repeat(np.arange(40), 5)
    before = rng.gamma(2, 3, 200)
    after = before + np.repeat(rng.random(40), 5) + rng.random(200)
    found = increase(before, after, clusters=clusters)
    means = (after - before).reshape(40, 5).mean(1)
    low, _ = stats.ttest_1samp(means, 0).confidence_interval()
    assert found.low[0] == pytest.approx(low, rel=1e-6)
    q = stats.t.ppf(0.975, 39)
    by_means = upper_quantile(q, means)
    assert upper_quantile(q, after - before, clusters) == pytest.approx(by_means)
    assert increase(before[:95], after[:95], clusters=clusters[:95]).few_clusters[0]


def test_the_upper_end_reaches_further_only_to_the_long_side(rng):
    values = rng.lognormal(0, 1, 100)
    assert upper_quantile(2, values) > 2.2
    assert upper_quantile(2, -values) == 2
    assert upper_quantile(2, np.zeros(5)) == 2
    assert upper_quantile(2, 1e6 * values) == pytest.approx(upper_quantile(2, values))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("examples", and_nightly([200], [1000]))
def test_an_increase_near_its_limit_seldom_passes_or_fails_wrongly(kind, examples, rng):
    passes, fails = error_rates(kind, rng, STUDIES, examples)
    assert max(passes, fails) <= 0.05 + 2.4 * np.sqrt(0.05 * 0.95 / STUDIES), (passes, fails)


def test_populations_and_designs_that_would_decide(rng):
    before = rng.gamma(2, 1, (3, 400))
    after = before + rng.normal(0.1, 0.3, before.shape).clip(-before)
    sides = [Outcomes(side, errors=True) for side in (before, after)]
    verdict = gate(*sides, Limits(mean_error_increase=0.13))
    (check,) = verdict.checks
    assert check.outcome == "cannot judge"
    assert check.low < 0.13 < check.high
    assert check.members > 3  # which differ more than examples do
    assert "400 examples and 3 and 3 members do not decide on the limit of 0.13" in check.sentence
    assert gate(*sides, Limits(mean_error_increase=2)).outcome == "pass"
    worse = Outcomes(before + 1, errors=True)
    assert gate(sides[0], worse, Limits(mean_error_increase=0.5)).outcome == "fail"


def test_the_command_reads_errors_where_their_mean_is_limited(tfaudit, refused):
    errors = np.arange(-50, 50) / 100
    frame = pd.DataFrame({"id": range(100), "error": errors, "right": 1.0})
    frame.to_csv("a.csv", index=False)
    frame.assign(error=1.2 * errors).to_csv("b.csv", index=False)
    sides = ("gate", "--baseline", "a.csv", "--compressed", "b.csv", "--outcome", "error")
    code, text, _ = tfaudit(*sides, "--max-mean-error-increase", 0.1, "--json", "v.json")
    assert code == 0
    assert "increase of mean error" in text
    (verdict,) = json.loads(Path("v.json").read_text())["verdicts"].values()
    words = "The mean error increases by 0.05, from 0.25 to 0.3 (95 % interval 0.0442 to 0.0558)"
    assert verdict["checks"][0]["sentence"] == f"{words}: below the limit of 0.1."
    assert tfaudit(*sides, "--max-mean-error-increase", 0.01)[0] == 1
    for options, message in (
        (("--max-mean-error-increase", -1), "got -1.0, expected a number of 0 or more"),
        (("--max-mean-error-increase", 1, "--tolerance", 1), "--tolerance: got 1, expected"),
        (("--max-mean-error-increase", 1, "--max-overall-drop", 1), "a limit on errors"),
        (("--max-overall-drop", 1), "errors need --tolerance, or the gate's --max-mean"),
    ):
        refused(tfaudit(*sides, *options), message)


def test_errors_are_no_scores():
    errors, scores = Outcomes([2.0, 0.5], errors=True), Outcomes([1, 0.5])
    with pytest.raises(InputError, match="compressed: got scores, expected errors"):
        gate(errors, scores, Limits(mean_error_increase=1))
    with pytest.raises(InputError, match=r"limits: got Limits\(\), expected a limit on errors"):
        gate(errors, errors)
    with pytest.raises(InputError, match=r"overall_drop_pp: got .*expected a limit on errors"):
        gate(errors, errors, Limits(overall_drop_pp=1))
    with pytest.raises(InputError, match="values: got errors of -1 to 2, expected errors of 0 or"):
        Outcomes([2.0, -1], errors=True)
