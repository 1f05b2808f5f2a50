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

from tfaudit.audits.factors.design import KEYS, Design, design, redundant, term_title
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import InputError, require

ALTERNATIVES = {"imbalance": "greater", "class_entropy": "less"}  # [P] 3.1: E > 0 and F < 0


@dataclasses.dataclass(frozen=True)
class Factors(Result):
    """A fitted regression of the accuracy of n class-model pairs.

    `fit` is "ols" (coefficients are changes of accuracy, a share) or "binomial" (changes of its log-odds). `frame` and
    `summary` describe `coefficients` and `diagnostics`. `residuals` has the n rows in the order of the fit: the keys,
    `observed`, `fitted` (shares) and `residual`. `notes` say what is left out, one sentence each.
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
        `cluster_p`, `cluster_p_one_tailed` are the same with the classes as clusters; NaN without a column `class`.
        """
        return self.coefficients.copy()

    def summary(self) -> dict[str, Any]:
        """Return diagnostics of the fit, and the two hypotheses.

        Keys: `fit`; `rows`; `coefficients` (count); `r_squared` (share of the deviance explained, which is R^2 for
        OLS) and `r_squared_adjusted` (for degrees of freedom); `condition_number` (of the design matrix);
        `dispersion` (Pearson chi^2 / df: residual variance for OLS; 1 for binomial counts); `durbin_watson` (2 without
        correlation between neighbouring rows), `breusch_pagan_p` (small if the spread depends on the covariates),
        `skew` and `kurtosis` (0 and 3 are normal) of the Pearson residuals, `omnibus` and `jarque_bera`, tests of both
        with `omnibus_p` and `jarque_bera_p` (NaN for fewer than eight rows); `f` with `f_p`, the robust test that no
        term but the intercept counts (Wald, [P] D), `log_likelihood`, `aic`, `bic`; `fitted_outside`, the share of
        fitted
        accuracies outside [0, 1]; and for `imbalance` and `class_entropy` the estimate and `..._p_one_tailed`, NaN
        if the term is left out.
        """
        rows = self.coefficients.set_index("term").reindex(list(ALTERNATIVES))
        hypotheses = {str(name): float(value) for name, value in rows["estimate"].items()}
        hypotheses |= {
            f"{name}_p_one_tailed": float(value) for name, value in rows["p_one_tailed"].items()
        }
        size = {"rows": len(self.residuals), "coefficients": len(self.coefficients)}
        return {"fit": self.fit, **size, **self.diagnostics, **hypotheses}

    def chart(self) -> Drawing:
        """Draw the coefficients with their intervals."""
        from tfaudit.audits.factors.chart import coefficient_chart

        frame = self.frame()
        return coefficient_chart(frame.assign(label=frame["term"].map(term_title)), self.fit)

    def diagnostics_chart(self) -> Drawing:
        """Draw fitted against observed accuracy, and the residuals, [P] figures 14 and 15."""
        from tfaudit.audits.factors.chart import diagnostics_chart

        return diagnostics_chart(self.residuals)


def factors(
    table: pd.DataFrame,
    *,
    reference: Mapping[str, str] | None = None,
    without: Collection[str] = (),
    maxlags: int = 3,
    confidence: float = 0.95,
) -> Factors:
    """Regress the accuracy of classes on the treatment of the models and the properties of the classes: [P] eq. 2.

    Ordinary least squares with the terms of [P] D: `accuracy ~ dataset + model + weight_treatment*technique +
    np.exp(sparsity)*(dataset + technique) + sparsity + accuracy0*(weight_treatment + technique) + accuracy0_quartile +
    imbalance + class_entropy + np.exp(sparsity):accuracy0 + accuracy0:accuracy0_quartile`. Covariates that are
    missing or do not vary drop out; the notes name them. Standard errors are robust to heteroscedasticity and to
    correlation up to `maxlags` rows apart (HAC, Newey and West), with correction for small samples and t tests.

    Beside them stand errors that are robust to any correlation within a class of a data set, by t tests with one degree
    of freedom fewer than classes. A class has its own difficulty in every member and at every sparsity, far beyond
    `maxlags` rows: where it varies beyond the covariates, HAC errors of what is the same for a class, such as its
    imbalance, are too small.

    For these lags the rows are sorted by dataset, model, weight treatment, technique, member, class, sparsity:
    neighbours are the same class of the same member at adjacent sparsities. The order of the table has no effect.

    Args:
        table: frame of `class_table`: `accuracy`, a share, and the covariates; rows with missing values are left out.
        reference: reference level by factor; by default the most common one, of equally common ones the first by name.
        without: terms of the formula above, as in `tfaudit.audits.factors.design.TERMS`, to leave out.
        maxlags: largest distance, in rows, at which errors may correlate; 0 allows for heteroscedasticity only.
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
    _check_options(maxlags, confidence)
    plan = design(table, ("accuracy",), reference, without)
    if not np.ptp(plan.rows["accuracy"]) > 0:
        raise InputError("table", "the same accuracy in every row", "an accuracy that varies")
    formula = f"accuracy ~ {' + '.join(plan.terms)}"
    model = smf.ols(formula, plan.rows)
    _require_full_rank(model)
    result = model.fit(**_hac(maxlags))
    clustered = _clustered(model, plan.rows)
    if np.abs(result.resid).max() < 1e-12:
        raise InputError(
            "table", "covariates that fit accuracy exactly", "residuals to test against"
        )
    return _factors("ols", formula, plan, plan.rows["accuracy"], result, clustered, confidence)


def factors_glm(
    table: pd.DataFrame,
    *,
    reference: Mapping[str, str] | None = None,
    without: Collection[str] = (),
    maxlags: int = 3,
    confidence: float = 0.95,
) -> Factors:
    """Regress counts of correct predictions on the same terms: the binomial logit model that [P] 3.2 suggests.

    Terms, order and HAC errors are those of `factors`; the errors are also robust to overdispersed counts (the members
    predict the same images). Fitted accuracies stay in [0, 1].

    `table` holds `correct` and `examples`, counts, in the place of `accuracy`; rows without examples are left out. The
    other arguments are those of `factors`.

    Raises:
        InputError: as `factors`; impossible counts; or separation, in which a covariate predicts some rows perfectly
            and its coefficient has no finite estimate.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> table = pd.DataFrame({"class_entropy": rng.random(500), "examples": 100})
        >>> table["correct"] = rng.binomial(100, 1 / (1 + np.exp(table["class_entropy"] - 2)))
        >>> factors_glm(table).frame()[["term", "estimate", "alternative"]].round(1)
                    term  estimate alternative
        0      Intercept       2.0        None
        1  class_entropy      -1.0        less
    """
    _check_options(maxlags, confidence)
    counts = ("correct", "examples")
    plan = design(table, counts, reference, without)
    rows = plan.rows[plan.rows["examples"] != 0].reset_index(drop=True)
    possible = rows["correct"].between(0, rows["examples"]) & (rows[[*counts]] % 1 == 0).all(axis=1)
    if not possible.all():
        row = rows[~possible].iloc[0]
        raise InputError(
            "table",
            f"{row['correct']:g} correct of {row['examples']:g} examples",
            "possible counts",
        )
    formula = f"correct + wrong ~ {' + '.join(plan.terms)}"
    model = smf.glm(
        formula,
        rows.assign(wrong=rows["examples"] - rows["correct"]),
        family=sm.families.Binomial(),
    )
    _require_full_rank(model)
    got = "a covariate that separates rows without errors, or without correct predictions, from the others"
    expected = "finite coefficients; leave terms out with `without`, or use `factors`"
    separated = InputError("table", got, expected)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", PerfectSeparationWarning)
            warnings.simplefilter("error", ConvergenceWarning)
            result = model.fit(**_hac(maxlags))
            clustered = _clustered(model, rows)
    except (PerfectSeparationWarning, ConvergenceWarning):
        raise separated from None
    if min(result.fittedvalues.min(), 1 - result.fittedvalues.max()) < 1e-9:
        raise separated
    plan = dataclasses.replace(plan, rows=rows)
    return _factors(
        "binomial", formula, plan, rows["correct"] / rows["examples"], result, clustered, confidence
    )


def _check_options(maxlags: int, confidence: float) -> None:
    require(
        maxlags >= 0 and maxlags == int(maxlags),
        "maxlags",
        maxlags,
        "a whole number of rows, 0 or more",
    )
    require(0 < confidence < 1, "confidence", confidence, "a level in (0, 1)")


def _hac(maxlags: int) -> dict[str, Any]:
    return {
        "cov_type": "HAC",
        "cov_kwds": {"maxlags": maxlags, "use_correction": True},
        "use_t": True,
    }


def _clustered(model: Any, rows: pd.DataFrame) -> Any:
    """Return the fit with errors clustered by class within data set; None without two classes."""
    names = [name for name in ("dataset", "class") if name in rows]
    clusters = (
        rows.groupby(names, observed=True).ngroup().to_numpy()
        if "class" in names
        else np.zeros(len(rows))
    )
    if len(np.unique(clusters)) < 2:
        return None
    return model.fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)


def _require_full_rank(model: Any) -> None:
    rows, columns = model.exog.shape
    if rows <= columns:
        raise InputError(
            "table",
            f"{rows} complete rows for {columns} coefficients",
            "more rows than coefficients",
        )
    aliased = redundant(model.exog)
    if aliased.any():
        first = model.exog_names[int(aliased.argmax())]
        got = f"{aliased.sum()} of {columns} coefficients that depend on others, first {first}"
        raise InputError("table", got, "rows in which they vary, or their terms in `without`")


def _factors(
    fit: str,
    formula: str,
    plan: Design,
    observed: pd.Series,
    result: Any,
    clustered: Any,
    confidence: float,
) -> Factors:
    low, high = result.conf_int(1 - confidence).to_numpy().T
    estimates = {
        "estimate": result.params,
        "se": result.bse,
        "t": result.tvalues,
        "p": result.pvalues,
    }
    coefficients = (
        pd.DataFrame(estimates).rename_axis("term").reset_index().assign(low=low, high=high)
    )
    coefficients["alternative"] = pd.Series(
        [ALTERNATIVES.get(term) for term in coefficients["term"]], dtype=object
    )
    coefficients["p_one_tailed"] = _one_tailed(
        coefficients["alternative"], coefficients["t"], result.df_resid
    )
    names = ["cluster_se", "cluster_low", "cluster_high", "cluster_p", "cluster_p_one_tailed"]
    coefficients[names] = np.nan
    if clustered is not None:
        # A variance of 0, of clusters all alike, may be rounded to less: no error.
        with np.errstate(invalid="ignore"):
            low, high = clustered.conf_int(1 - confidence).to_numpy().T
            p = _one_tailed(
                coefficients["alternative"], clustered.tvalues, clustered.df_resid_inference
            )
            coefficients[names] = np.column_stack([clustered.bse, low, high, clustered.pvalues, p])
    fitted = result.fittedvalues.to_numpy()
    residuals = plan.rows[[key for key in KEYS if key in plan.rows]].assign(
        observed=observed.to_numpy(), fitted=fitted
    )
    residuals["residual"] = residuals["observed"] - residuals["fitted"]
    return Factors(fit, formula, coefficients, residuals, _diagnostics(result, fitted), plan.notes)


def _one_tailed(alternatives: pd.Series, t: pd.Series, df: float) -> list[float]:
    tails = {"greater": stats.t.sf, "less": stats.t.cdf}
    return [
        float(tails[side](value, df)) if side else np.nan
        for side, value in zip(alternatives, t, strict=True)
    ]


def _diagnostics(result: Any, fitted: np.ndarray) -> dict[str, float]:
    ols = hasattr(result, "ssr")
    terms = len(result.params) - 1
    f = np.nan
    f_p = np.nan
    if terms:
        wald = result.f_test(np.eye(terms + 1)[1:])
        f = float(np.squeeze(wald.fvalue))
        f_p = float(np.squeeze(wald.pvalue))
    explained = float(result.rsquared if ols else 1 - result.deviance / result.null_deviance)
    noise = np.asarray(result.resid_pearson)
    omnibus = stats.normaltest(noise) if len(noise) >= 8 else (np.nan, np.nan)
    normality = stats.jarque_bera(noise) if len(noise) >= 8 else (np.nan, np.nan)
    bic = float(result.bic if ols else result.bic_llf)
    return {
        "r_squared": explained,
        "r_squared_adjusted": float(1 - (1 - explained) * (result.nobs - 1) / result.df_resid),
        "condition_number": float(np.linalg.cond(result.model.exog)),
        "dispersion": float(result.scale if ols else result.pearson_chi2 / result.df_resid),
        "durbin_watson": float(durbin_watson(noise)),
        "breusch_pagan_p": float(het_breuschpagan(noise, result.model.exog)[1]),
        "skew": float(stats.skew(noise)),
        "kurtosis": float(stats.kurtosis(noise, fisher=False)),
        **{"omnibus": float(omnibus[0]), "omnibus_p": float(omnibus[1])},
        **{"jarque_bera": float(normality[0]), "jarque_bera_p": float(normality[1])},
        **{
            "f": f,
            "f_p": f_p,
            "log_likelihood": float(result.llf),
            "aic": float(result.aic),
            "bic": bic,
        },
        "fitted_outside": float(((fitted < 0) | (fitted > 1)).mean()),
    }
