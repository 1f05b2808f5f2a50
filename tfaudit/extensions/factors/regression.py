"""Regression of the accuracy of a class after compression on its possible causes: [P] 3.1 and D."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.stats.diagnostic import het_breuschpagan
from statsmodels.stats.stattools import durbin_watson
from statsmodels.tools.sm_exceptions import ConvergenceWarning, PerfectSeparationWarning

from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import InputError, require_level
from tfaudit.extensions.factors.clustered_errors import clustered_errors
from tfaudit.extensions.factors.design import KEYS, Design, design, redundant, term_title

ALTERNATIVES = {"imbalance": "greater", "class_entropy": "less"}  # [P] 3.1: E > 0 and F < 0
SIGNS = {"greater": 1.0, "less": -1.0}

LAGS = 3
"""Largest distance, in rows, at which errors may correlate."""


@dataclasses.dataclass(frozen=True)
class Factors(Result):
    """A fitted regression of the accuracy of n class-model pairs.

    `fit` is "ols" (coefficients are changes of accuracy, a share) or "binomial" (changes of its log-odds). `frame` and
    `summary` describe `coefficients` and `diagnostics`. `residuals` has the n rows in the order of the fit: the keys,
    `observed`, `fitted` (shares) and `residual`. `notes` name omissions, one sentence each.
    """

    fit: str
    formula: str
    coefficients: pd.DataFrame
    residuals: pd.DataFrame
    diagnostics: Mapping[str, float]
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return one row per coefficient.

        Columns: `term` (`technique[T.l1]` is level l1 against the reference), `estimate`, `se` (HAC), `t`, `p`
        (two-sided), the interval `low` to `high`, and for the two hypotheses of [P] `alternative` (greater or less than
        0) and `p_one_tailed`; None and NaN for the other terms. `cluster_se`, `cluster_low`, `cluster_high`,
        `cluster_p`, `cluster_p_one_tailed` are the same with the classes as clusters, of each data set where these are
        known; NaN without a column `class`.
        """
        return self.coefficients.copy()

    def summary(self) -> dict[str, Any]:
        """Return diagnostics of the fit, and the two hypotheses.

        Keys: `fit`; `rows`; `coefficients` (count); `r_squared` (share of the deviance explained, which is R^2 for OLS)
        and `r_squared_adjusted` (for degrees of freedom); `condition_number` (of the design matrix); `dispersion`
        (Pearson chi^2 / df: residual variance for OLS; 1 for binomial counts); `durbin_watson` (2 without correlation
        between neighbouring rows), `breusch_pagan_p` (small if the spread depends on the covariates), `skew` and
        `kurtosis` (0 and 3 are normal) of the Pearson residuals, `omnibus` and `jarque_bera`, tests of both with
        `omnibus_p` and `jarque_bera_p` (NaN for fewer than eight rows); `f` with `f_p`, the robust test that no term
        but the intercept counts (Wald, [P] D), `log_likelihood`, `aic`, `bic`; `fitted_outside`, the share of fitted
        accuracies outside [0, 1]; and for `imbalance` and `class_entropy` the estimate and `..._p_one_tailed`, NaN if
        the term is left out.
        """
        hypotheses = self.coefficients.set_index("term").reindex(list(ALTERNATIVES))
        return {
            "fit": self.fit,
            "rows": len(self.residuals),
            "coefficients": len(self.coefficients),
            **self.diagnostics,
            **hypotheses["estimate"],
            **hypotheses["p_one_tailed"].add_suffix("_p_one_tailed"),
        }

    def chart(self) -> Drawing:
        """Draw the coefficients with their intervals."""
        from tfaudit.extensions.factors.chart import coefficient_chart

        frame = self.frame()
        return coefficient_chart(frame.assign(label=frame["term"].map(term_title)), self.fit)

    def diagnostics_chart(self) -> Drawing:
        """Draw fitted against observed accuracy, and the residuals, [P] figures 14 and 15."""
        from tfaudit.extensions.factors.chart import diagnostics_chart

        return diagnostics_chart(self.residuals)


def factors(
    table: pd.DataFrame,
    *,
    reference: Mapping[str, str] | None = None,
    without: Collection[str] = (),
    confidence: float = 0.95,
) -> Factors:
    """Regress the accuracy of classes on the treatment of the models and the properties of the classes: [P] eq. 2.

    Ordinary least squares with the terms of [P] D: `accuracy ~ dataset + model + weight_treatment*technique +
    np.exp(sparsity)*(dataset + technique) + sparsity + accuracy0*(weight_treatment + technique) + accuracy0_quartile +
    imbalance + class_entropy + np.exp(sparsity):accuracy0 + accuracy0:accuracy0_quartile`. Covariates that are missing
    or do not vary are dropped; the notes name them. Standard errors are robust to heteroscedasticity and to correlation
    up to three rows apart (HAC, Newey and West), with correction for small samples and t tests.

    The result also has standard errors that are robust to any correlation within a class of a data set (CR2), with
    t tests with degrees of freedom for few classes [IK]. The difficulty of a class affects every member and every
    sparsity, far beyond three rows. If it varies beyond the covariates, HAC errors of covariates that are constant
    within a class, such as its imbalance, are too small.

    For these lags the rows are sorted by dataset, model, weight treatment, technique, member, class, sparsity:
    neighbours are the same class of the same member at adjacent sparsities. The order of the table has no effect.

    Args:
        table: frame of `class_table` with `accuracy`, a share, and the covariates; rows with missing values are left
            out.
        reference: reference level by factor; by default the most common one, and the first by name if several are.
        without: terms of the formula above to leave out, named as in `tfaudit.extensions.factors.design.TERMS`.
        confidence: level of the intervals, in (0, 1).

    Raises:
        InputError: missing or invalid columns, unknown references or terms, fewer rows than coefficients, terms that
            are linear combinations of others (a technique at a single sparsity has no slope), or an exact fit.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> table = pd.DataFrame({"sparsity": rng.random(500), "imbalance": 0.1 * rng.normal(size=500)})
        >>> table["accuracy"] = 0.9 - 0.2 * table["sparsity"] + table["imbalance"] + 0.01 * rng.normal(size=500)
        >>> factors(table, without=["np.exp(sparsity)"]).frame()[["term", "estimate", "p_one_tailed"]].round(2)
                term  estimate  p_one_tailed
        0  Intercept       0.9           NaN
        1   sparsity      -0.2           NaN
        2  imbalance       1.0           0.0
    """
    require_level("confidence", confidence)
    plan = design(table, ("accuracy",), reference, without)
    if not np.ptp(plan.rows["accuracy"]) > 0:
        raise InputError("table", "the same accuracy in every row", "an accuracy that varies")
    formula = f"accuracy ~ {' + '.join(plan.terms)}"
    model = smf.ols(formula, plan.rows)
    result = _fit(model)
    if np.abs(result.resid).max() < 1e-12:
        got = "covariates that fit accuracy exactly"
        raise InputError("table", got, "residuals to test against")
    by_class = _errors_by_class(model, result, result.resid, plan.rows)
    return _factors("ols", formula, plan, plan.rows["accuracy"], result, by_class, confidence)


def factors_glm(
    table: pd.DataFrame,
    *,
    reference: Mapping[str, str] | None = None,
    without: Collection[str] = (),
    confidence: float = 0.95,
) -> Factors:
    """Regress counts of correct predictions on the same terms: the binomial logit model that [P] 3.2 suggests.

    Terms, order and HAC errors are those of `factors`; the errors are also robust to overdispersed counts (the members
    predict the same images). Fitted accuracies stay in [0, 1].

    `table` holds the counts `correct` and `examples` in place of `accuracy`; rows without examples are left out. The
    other arguments are those of `factors`.

    Raises:
        InputError: the errors of `factors`; impossible counts; or separation, in which a covariate predicts some rows
            perfectly and its coefficient has no finite estimate.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> table = pd.DataFrame({"class_entropy": rng.random(500), "examples": 100})
        >>> table["correct"] = rng.binomial(100, 1 / (1 + np.exp(table["class_entropy"] - 2)))
        >>> factors_glm(table).frame()[["term", "estimate", "alternative"]].round(1)
                    term  estimate alternative
        0      Intercept       2.0        None
        1  class_entropy      -1.0        less
    """
    require_level("confidence", confidence)
    counts = ("correct", "examples")
    plan = design(table, counts, reference, without)
    rows = plan.rows[plan.rows["examples"] != 0].reset_index(drop=True)
    possible = rows["correct"].between(0, rows["examples"]) & (rows[[*counts]] % 1 == 0).all(axis=1)
    if not possible.all():
        row = rows[~possible].iloc[0]
        got = f"{row['correct']:g} correct of {row['examples']:g} examples"
        raise InputError("table", got, "possible counts")
    formula = f"correct + wrong ~ {' + '.join(plan.terms)}"
    wrong = rows["examples"] - rows["correct"]
    model = smf.glm(formula, rows.assign(wrong=wrong), family=sm.families.Binomial())
    separated = InputError(
        "table",
        "a covariate that separates rows without errors, or without correct predictions, from the others",
        "finite coefficients; leave terms out with `without`, or use `factors`",
    )
    try:
        with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
            warnings.simplefilter("error", PerfectSeparationWarning)
            warnings.simplefilter("error", ConvergenceWarning)
            result = _fit(model)
    except (PerfectSeparationWarning, ConvergenceWarning):
        raise separated from None
    fitted = result.fittedvalues
    # Checked before the errors by class, whose weights would be 0 / 0.
    if min(fitted.min(), 1 - fitted.max()) < 1e-9:
        raise separated
    by_class = _errors_by_class(model, result, result.resid_pearson, rows)
    plan, observed = dataclasses.replace(plan, rows=rows), rows["correct"] / rows["examples"]
    return _factors("binomial", formula, plan, observed, result, by_class, confidence)


def _fit(model: Any) -> Any:
    """Return the fit with HAC errors.

    Raises:
        InputError: coefficients that the rows do not determine.
    """
    count, columns = model.exog.shape
    if count <= columns:
        got = f"{count} complete rows for {columns} coefficients"
        raise InputError("table", got, "more rows than coefficients")
    aliased = redundant(model.exog)
    if aliased.any():
        first = model.exog_names[int(aliased.argmax())]
        got = f"{aliased.sum()} of {columns} coefficients that depend on others, first {first}"
        raise InputError("table", got, "rows in which they vary, or their terms in `without`")
    options = {"maxlags": LAGS, "use_correction": True}
    return model.fit(cov_type="HAC", cov_kwds=options, use_t=True)


def _errors_by_class(
    model: Any, result: Any, residuals: pd.Series, rows: pd.DataFrame
) -> tuple[np.ndarray, np.ndarray]:
    """Return errors by class within data set with their degrees of freedom; NaN for one class."""
    unknown = np.full(len(result.params), np.nan), np.full(len(result.params), np.nan)
    if "class" not in rows or rows["class"].isna().all():
        return unknown
    names = [name for name in ("dataset", "class") if name in rows]
    # A missing name is a name: `ngroup` would give all its rows one number, whatever their classes.
    clusters = rows.groupby(names, observed=True, dropna=False).ngroup().to_numpy()
    if len(np.unique(clusters)) < 2:
        return unknown
    weights = np.sqrt(model.hessian_factor(result.params))  # 1 for least squares
    return clustered_errors(weights[:, None] * model.exog, np.asarray(residuals), clusters)


def _factors(
    fit: str,
    formula: str,
    plan: Design,
    observed: pd.Series,
    result: Any,
    by_class: tuple[np.ndarray, np.ndarray],
    confidence: float,
) -> Factors:
    estimates = result.params
    robust = _errors(estimates, result.bse.to_numpy(), result.df_resid, confidence)
    coefficients = pd.DataFrame({"estimate": estimates, **robust})
    sides = [ALTERNATIVES.get(term) for term in coefficients.index]
    coefficients.insert(6, "alternative", pd.Series(sides, coefficients.index, object))
    errors, freedom = by_class
    clustered = _errors(estimates, errors, freedom, confidence).assign(df=freedom)
    coefficients = coefficients.join(clustered.drop(columns="t").add_prefix("cluster_"))
    fitted = result.fittedvalues.to_numpy()
    residuals = plan.rows[[key for key in KEYS if key in plan.rows]].assign(
        observed=observed.to_numpy(), fitted=fitted
    )
    residuals["residual"] = residuals["observed"] - residuals["fitted"]
    return Factors(
        fit,
        formula,
        coefficients.rename_axis("term").reset_index(),
        residuals,
        _diagnostics(result, fitted),
        plan.notes,
    )


def _errors(
    estimates: pd.Series, errors: np.ndarray, freedom: np.ndarray | float, confidence: float
) -> pd.DataFrame:
    """Return t tests and intervals of coefficients from their errors, and the p-values of the hypotheses."""
    t = estimates / errors
    signs = np.array([SIGNS.get(ALTERNATIVES.get(term, ""), np.nan) for term in estimates.index])
    margin = stats.t.ppf((1 + confidence) / 2, freedom) * errors
    columns = {
        "se": errors,
        "t": t,
        "p": 2 * stats.t.sf(t.abs(), freedom),
        "low": estimates - margin,
        "high": estimates + margin,
        "p_one_tailed": stats.t.sf(signs * t, freedom),
    }
    return pd.DataFrame(columns, estimates.index)


def _diagnostics(result: Any, fitted: np.ndarray) -> dict[str, float]:
    ols = hasattr(result, "ssr")
    noise = np.asarray(result.resid_pearson)
    tests = {"omnibus": (np.nan, np.nan), "jarque_bera": (np.nan, np.nan), "f": (np.nan, np.nan)}
    if len(noise) >= 8:
        tests["omnibus"] = stats.normaltest(noise)
        tests["jarque_bera"] = stats.jarque_bera(noise)
    terms = len(result.params) - 1
    if terms:
        wald = result.f_test(np.eye(terms + 1)[1:])
        tests["f"] = np.squeeze(wald.fvalue), np.squeeze(wald.pvalue)
    explained = result.rsquared if ols else 1 - result.deviance / result.null_deviance
    figures = {
        "r_squared": explained,
        "r_squared_adjusted": 1 - (1 - explained) * (result.nobs - 1) / result.df_resid,
        "condition_number": np.linalg.cond(result.model.exog),
        "dispersion": result.scale if ols else result.pearson_chi2 / result.df_resid,
        "durbin_watson": durbin_watson(noise),
        "breusch_pagan_p": het_breuschpagan(noise, result.model.exog)[1],
        "skew": stats.skew(noise),
        "kurtosis": stats.kurtosis(noise, fisher=False),
    }
    for name, (statistic, p) in tests.items():
        figures |= {name: statistic, f"{name}_p": p}
    figures |= {
        "log_likelihood": result.llf,
        "aic": result.aic,
        "bic": result.bic if ols else result.bic_llf,
        "fitted_outside": ((fitted < 0) | (fitted > 1)).mean(),
    }
    return {name: float(figure) for name, figure in figures.items()}
