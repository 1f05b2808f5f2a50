"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from tfaudit.audits.declaration import Chart, Declaration, Table

COEFFICIENTS = (
    "term",
    "estimate",
    "se",
    "t",
    "p",
    "low",
    "high",
    "p_one_tailed",
    "cluster_se",
    "cluster_df",
    "cluster_p",
    "cluster_p_one_tailed",
)

DIAGNOSTICS = (
    "fit",
    "rows",
    "r_squared",
    "r_squared_adjusted",
    "f",
    "f_p",
    "log_likelihood",
    "aic",
    "bic",
    "omnibus",
    "omnibus_p",
    "jarque_bera",
    "jarque_bera_p",
    "durbin_watson",
    "skew",
    "kurtosis",
    "condition_number",
)

FACTORS = Declaration(
    name="factors",
    title="Factors",
    question="What explains the accuracy of a class after pruning?",
    method=(
        "Sparsity, its accuracy before, its share of the training set or the entropy of its "
        "images, by least squares with robust (HAC) errors and by a binomial model."
    ),
    source="[P] 3.1 and D",
    charts=(
        Chart(description="Coefficients with confidence intervals.", title="Least squares"),
        Chart(
            name="residuals",
            description="Fitted against observed, residuals.",
            draw=lambda result: result.least_squares.diagnostics_chart(),
            title="Fit",
        ),
    ),
    tables={
        "terms": Table(
            columns=COEFFICIENTS,
            catalogue="factors",
            title="Least squares, changes of accuracy",
            folded=True,
        ),
        "binomial": Table(
            columns=COEFFICIENTS,
            catalogue="factors",
            rows=lambda result: result.binomial_frame(),
            title="Binomial model, log-odds",
            folded=True,
        ),
        "diagnostics": Table(
            columns=DIAGNOSTICS,
            rows=lambda result: result.diagnostics(),
            title="Diagnostics ([P] D)",
            folded=True,
        ),
    },
)
