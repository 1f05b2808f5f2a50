"""Factors against statsmodels, least squares and sandwiches made by hand; recovery of known effects; refusals."""

import itertools

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from numpy.testing import assert_allclose
from scipy import stats
from statsmodels.stats.stattools import jarque_bera, omni_normtest

from tests.builders.nightly import and_nightly, noise, seeds
from tests.builders.refusals import assert_refused
from tests.extensions.factors.tables import (
    PAPER_LEVELS,
    SMALL,
    SPARSE,
    TABLE,
    false_alarms,
    simulated,
    without_effects,
)
from tfaudit.extensions.factors.clustered_errors import clustered_errors
from tfaudit.extensions.factors.regression import factors, factors_glm

PAPER_REFERENCE = {name: levels[0] for name, levels in PAPER_LEVELS.items()}
FORMULA = (
    "dataset + model + weight_treatment*technique + np.exp(sparsity)*(dataset + technique) + sparsity"
    " + accuracy0*(weight_treatment + technique) + accuracy0_quartile + imbalance + class_entropy"
    " + np.exp(sparsity):accuracy0 + accuracy0:accuracy0_quartile"
)  # as in [P], with its shorthand


HAC = {"cov_type": "HAC", "cov_kwds": {"maxlags": 3, "use_correction": True}, "use_t": True}


def sorted_by_hand(rows):
    keys = ["dataset", "model", "weight_treatment", "technique", "member", "class", "sparsity"]
    return rows.sort_values(keys).reset_index(drop=True)


def model(fit, table=TABLE, levels=SMALL):
    """The model of [P] in statsmodels, with factors in the order of their levels."""
    rows = sorted_by_hand(table)
    coded = {name: pd.Categorical(rows[name], names) for name, names in levels.items()}
    rows = rows.assign(**coded, wrong=rows["examples"] - rows["correct"])
    if fit is factors:
        return smf.ols(f"accuracy ~ {FORMULA}", rows)
    return smf.glm(f"correct + wrong ~ {FORMULA}", rows, family=sm.families.Binomial())


every_fit = pytest.mark.parametrize("fit", [factors, factors_glm])


@every_fit
def test_equals_statsmodels(fit):
    expected = model(fit).fit(**HAC)
    found = fit(TABLE, reference=PAPER_REFERENCE)
    frame = found.frame().set_index("term").loc[expected.params.index]
    assert_allclose(frame["estimate"], expected.params, rtol=1e-6, atol=1e-9)
    assert_allclose(frame["se"], expected.bse, rtol=1e-6)
    assert_allclose(frame["p"], expected.pvalues, rtol=1e-5, atol=1e-12)
    assert_allclose(frame[["low", "high"]], expected.conf_int(), rtol=1e-5, atol=1e-8)
    assert_allclose(found.residuals["fitted"], expected.fittedvalues)
    noise = np.asarray(expected.resid_pearson)
    figures = {
        "aic": expected.aic,
        "log_likelihood": expected.llf,
        **dict(zip(("omnibus", "omnibus_p"), omni_normtest(noise), strict=True)),
        **dict(zip(("jarque_bera", "jarque_bera_p"), jarque_bera(noise)[:2], strict=True)),
    }
    if fit is factors:
        figures |= {
            "r_squared": expected.rsquared,
            "r_squared_adjusted": expected.rsquared_adj,
            "condition_number": expected.condition_number,
            "dispersion": expected.scale,
            "f": expected.fvalue,
            "bic": expected.bic,
        }
    else:
        figures |= {
            "r_squared": 1 - expected.deviance / expected.null_deviance,
            "dispersion": expected.pearson_chi2 / expected.df_resid,
            "bic": expected.bic_llf,
        }
    told = found.summary()
    assert {name: told[name] for name in figures} == pytest.approx(figures, rel=1e-5)
    if fit is factors:
        assert told["f_p"] == pytest.approx(expected.f_pvalue, rel=1e-4, abs=1e-300)


@every_fit
def test_clusters_by_class_are_tested_with_their_degrees_of_freedom(fit):
    rows = sorted_by_hand(TABLE)
    groups = pd.factorize(rows["dataset"] + "/" + rows["class"])[0]
    result = model(fit).fit()
    matrix = result.model.exog
    if fit is factors_glm:  # iteratively reweighted least squares, at the last step
        spread = np.sqrt(rows["examples"] * result.fittedvalues * (1 - result.fittedvalues))
        matrix = spread.to_numpy()[:, None] * matrix
    residuals = result.resid if fit is factors else result.resid_pearson
    errors, freedom = clustered_errors(matrix, np.asarray(residuals), groups)
    frame = fit(TABLE, reference=PAPER_REFERENCE).frame()
    frame = frame.set_index("term").loc[result.params.index]
    assert_allclose(frame["cluster_se"], errors, rtol=1e-5)
    assert_allclose(frame["cluster_df"], freedom, rtol=1e-5)
    assert frame["cluster_df"].between(2, len(np.unique(groups)) - 1).all()
    student, t = stats.t(frame["cluster_df"]), frame["estimate"] / frame["cluster_se"]
    assert_allclose(frame["cluster_p"], 2 * student.sf(t.abs()))
    for end, level in (("low", 0.025), ("high", 0.975)):
        expected = frame["estimate"] + student.ppf(level) * frame["cluster_se"]
        assert_allclose(frame[f"cluster_{end}"], expected)
    one_tailed = frame["cluster_p_one_tailed"]
    assert one_tailed["imbalance"] == pytest.approx(student.sf(t)[frame.index.get_loc("imbalance")])
    entropy = frame.index.get_loc("class_entropy")
    assert one_tailed["class_entropy"] == pytest.approx(student.cdf(t)[entropy])
    for table in (TABLE.drop(columns="class"), TABLE.assign(**{"class": None})):
        alone = fit(table).frame()
        assert alone.filter(like="cluster").isna().all(axis=None)


@every_fit
def test_clusters_by_class_do_not_depend_on_a_data_set_that_is_missing(fit):
    found = fit(TABLE.assign(dataset=None))
    assert found.notes[0] == "Left out because missing: data set."
    pd.testing.assert_frame_equal(found.frame(), fit(TABLE.drop(columns="dataset")).frame())
    assert found.frame()["cluster_se"].notna().all()


@pytest.mark.slow
@every_fit
@pytest.mark.parametrize(
    ("classes", "before", "uneven", "studies"),
    and_nightly(
        [(10, True, True, 25)],
        itertools.product((5, 10, 30), (False, True), (False, True), (300,)),
    ),
)
def test_classes_of_their_own_difficulty_deceive_neighbouring_rows_only(
    classes, before, uneven, studies, fit
):
    """Covariates of classes without effect: HAC finds p <= .05 far too often, errors by class no more than in 6 %."""
    found = pd.DataFrame(
        [
            false_alarms(without_effects(seed, classes, before=before, uneven=uneven), fit)
            for seed in seeds(studies)
        ]
    ).mean()
    assert found["HAC"] > 0.2
    assert found["not tested"] < (0.98 if classes == 5 else 0.01)
    tested = studies * (1 - found["not tested"])
    for name in ("by class", "one-tailed"):
        assert found[name] <= 0.06 + noise(0.06, tested)


def test_the_terms_are_those_of_the_paper():
    """[P] D: 49 degrees of freedom of the model, and these names (its `pruning_technique` is our `technique`)."""
    table = simulated(3000, PAPER_LEVELS)
    found = factors(table, reference=PAPER_REFERENCE).frame()["term"]
    expected = model(factors, table, PAPER_LEVELS).exog_names
    assert len(found) == 50
    ours, theirs = ({frozenset(term.split(":")) for term in terms} for terms in (found, expected))
    assert ours == theirs


def test_one_tailed_p_follows_the_direction():
    frame = factors(TABLE).frame().set_index("term")
    freedom = len(TABLE) - len(frame)
    for term, alternative in (("imbalance", "greater"), ("class_entropy", "less")):
        assert frame.loc[term, "alternative"] == alternative
        toward = frame.loc[term, "t"] * (1 if alternative == "greater" else -1)
        assert frame.loc[term, "p_one_tailed"] == pytest.approx(stats.t.sf(toward, freedom))
    assert frame["p_one_tailed"].notna().sum() == 2
    against = factors(TABLE.assign(imbalance=-TABLE["imbalance"])).summary()
    assert against["imbalance_p_one_tailed"] > 0.999


@every_fit
def test_the_order_of_the_table_plays_no_part(fit):
    expected = fit(TABLE)
    shuffled = fit(TABLE.sample(frac=1, random_state=1))
    pd.testing.assert_frame_equal(shuffled.frame(), expected.frame())
    pd.testing.assert_frame_equal(shuffled.residuals, expected.residuals)
    # Rows of equal keys, too: without keys the values decide.
    bare = TABLE[["sparsity", "imbalance", "accuracy", "correct", "examples"]]
    pd.testing.assert_frame_equal(fit(bare).frame(), fit(bare[::-1]).frame())


def test_hostile_levels_are_data():
    names = ["__import__('os').abort()", 'l1"] + C(model)', "{0}[T.x]:y `\n"]
    hostile = TABLE.assign(technique=np.resize(names, len(TABLE)))
    plain = TABLE.assign(technique=np.resize(["b", "c", "d"], len(TABLE)))
    found = factors(hostile, reference={"technique": names[0]})
    expected = factors(plain, reference={"technique": "b"})
    by_size = [sorted(fit.frame()["estimate"]) for fit in (found, expected)]
    assert_allclose(*by_size, rtol=1e-6)
    assert f"technique[T.{names[1]}]" in set(found.frame()["term"])
    assert found.chart().to_dict()


def test_columns_named_as_code_are_ignored():
    shadow = TABLE.assign(np=1.0, Q="x", exp=2.0)
    pd.testing.assert_frame_equal(factors(shadow).frame(), factors(TABLE).frame())


def test_most_common_level_is_the_reference_and_ties_go_by_name():
    counts = TABLE.assign(technique=np.repeat(["a", "b", "c"], [150, 200, 50]))
    terms = set(factors(counts, **SPARSE).frame()["term"])
    assert {"technique[T.a]", "technique[T.c]"} <= terms
    tied = TABLE.assign(technique=np.resize(["z", "y"], 400))
    assert "technique[T.z]" in set(factors(tied, **SPARSE).frame()["term"])
    assert "technique[T.y]" in set(
        factors(tied, reference={"technique": "z"}, **SPARSE).frame()["term"]
    )


def test_what_does_not_vary_drops_out():
    level = 0.1 - np.resize([0.1, 0.1 + 1e-17], 400)
    found = factors(TABLE.assign(technique="l1", imbalance=level, model=None))
    assert not found.frame()["term"].str.contains("technique|model|imbalance").any()
    assert found.notes == (
        "Left out because missing: model.",
        "Left out because constant in all rows: technique, share of the training set.",
    )
    assert np.isnan(found.summary()["imbalance"])
    assert np.isnan(found.summary()["imbalance_p_one_tailed"])


def test_constant_sparsity_takes_its_interactions_along():
    terms = factors(TABLE.assign(sparsity=0.9)).frame()["term"]
    assert not terms.str.contains("sparsity").any()


def test_incomplete_rows_are_left_out():
    holes = TABLE.astype({"accuracy": "Float64"})
    holes.loc[3, "accuracy"] = pd.NA
    holes.loc[5, "sparsity"] = np.inf
    found = factors(holes)
    pd.testing.assert_frame_equal(found.frame(), factors(TABLE.drop([3, 5])).frame())
    assert found.notes == ("2 of 400 rows lack a value of sparsity, accuracy and are left out.",)
    nothing = pd.concat([TABLE, TABLE.head(1).assign(correct=0, examples=0)])
    pd.testing.assert_frame_equal(factors_glm(nothing).frame(), factors_glm(TABLE).frame())


def test_diagnostics_see_what_they_should():
    good = factors(TABLE).summary()
    assert good["durbin_watson"] == pytest.approx(2, abs=0.3)
    assert good["breusch_pagan_p"] > 0.01
    assert good["kurtosis"] == pytest.approx(3, abs=0.6)
    assert good["fitted_outside"] == 0
    wide = np.where(TABLE["sparsity"] > 0.7, 0.5, 0.05)
    spread = TABLE["accuracy"] + wide * np.random.default_rng(1).normal(size=400)
    assert factors(TABLE.assign(accuracy=spread)).summary()["breusch_pagan_p"] < 1e-6
    assert factors(TABLE.assign(accuracy=TABLE["accuracy"] + 0.5)).summary()["fitted_outside"] > 0.2
    assert factors_glm(TABLE).summary()["fitted_outside"] == 0


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (
            TABLE.drop(columns="accuracy"),
            {},
            "table: got columns dataset, model, .*expected a column 'accuracy'",
        ),
        (
            TABLE.assign(sparsity="high"),
            {},
            "table: got text in the column 'sparsity', expected numbers",
        ),
        (TABLE.assign(accuracy=0.5), {}, "table: got the same accuracy in every row"),
        (TABLE.assign(accuracy=0.5 * TABLE["sparsity"]), {}, "fit accuracy exactly"),
        (TABLE.head(18), {}, "table: got 18 complete rows for 18 coefficients"),
        (TABLE[["accuracy", "class"]], {}, "expected one that may explain accuracy"),
        (
            TABLE.assign(class_entropy=2 * TABLE["imbalance"] + 1),
            {},
            "1 of .* that depend on others, first class_entropy",
        ),
        (
            TABLE.assign(
                sparsity=TABLE["sparsity"].where(TABLE["technique"] == "l1_structured", 0.0)
            ),
            {},
            r"that depend on others, first .*technique.*`without`",
        ),
        (
            TABLE,
            {"reference": {"technique": "l7"}},
            "reference: got technique 'l7', expected one of its levels \\(global_unstr",
        ),
        (
            TABLE,
            {"without": ["colour"]},
            "without: got 'colour', expected a list of dataset, model",
        ),
    ],
)
def test_bad_input(table, options, message):
    assert_refused(message, factors, table, **options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"correct": TABLE["examples"] + 1},
            r"table: got \d+ correct of \d+ examples, expected possible counts",
        ),
        ({"correct": TABLE["examples"]}, "a covariate that separates rows without errors"),
        (
            {"correct": TABLE["examples"].where(TABLE["model"] == "LeNet", TABLE["correct"])},
            "a covariate that separates rows without errors",
        ),
    ],
)
def test_counts_that_cannot_be_fitted(changes, message):
    assert_refused(message, factors_glm, TABLE.assign(**changes))
    assert_refused("expected a column 'correct'", factors_glm, TABLE.drop(columns="correct"))


def test_models_that_predict_a_single_class_are_separated():
    """Its fitted accuracies are exactly 1, those of the others almost 0: errors by class would divide 0 by 0."""
    rng = np.random.default_rng(0)
    levels = itertools.product(np.linspace(0.2, 0.9, 10), range(3), range(10))
    rows = pd.DataFrame(levels, columns=["sparsity", "member", "class"])
    one, late = rows["class"] == 1, rows["sparsity"] > 0.7
    strays = (late & (rng.random(300) < 0.1)) * rng.integers(1, 800, 300)
    counts = {"correct": np.where(one, 1000, strays), "examples": 1000}
    of_class = {"class_entropy": rng.random(10)[rows["class"]]}
    assert_refused(
        "a covariate that separates rows",
        factors_glm,
        rows.assign(accuracy0=one.astype(float), **counts, **of_class),
    )
