"""Slopes, accuracies and variances in the layout of the tables of [R].

Every function raises an `InputError` where its frame lacks a column.
"""

import pandas as pd

from tfaudit.audits.distortion.slopes import factors_of, groups_of, slope_means
from tfaudit.errors import InputError


def p_table(tests: pd.DataFrame, *, columns: str) -> pd.DataFrame:
    """Tabulate corrected p-values with pairs as rows and the values of one factor as columns: [R] tables 1-9.

    `columns` is a factor such as "model" (tables 1 and 9) or "level" (tables 5 to 8), `tests` the frame of
    `slope_tests`. The values are `p_bonferroni`, indexed by the other factors that vary, and by `pair` if there are
    several.

    Raises:
        InputError: `columns` is none of the factors held fixed.
    """
    fixed = list(tests.columns[: list(tests.columns).index("first")])
    if columns not in fixed:
        raise InputError(
            "columns",
            repr(columns),
            f"a factor that the tests hold fixed ({', '.join(fixed) or 'none'})",
        )
    pair = tests["first"].astype(str) + " vs " + tests["second"].astype(str)
    down = [name for name in fixed if name != columns and tests[name].nunique() > 1]
    down += ["pair"] if pair.nunique() > 1 or not down else []
    named = tests.assign(pair=pair)
    # `unstack(sort=False)` would keep the order, but puts values into wrong cells before pandas 3.
    table = named.set_index([*down, columns])["p_bonferroni"].unstack(columns)
    return table.reindex(
        index=named.set_index(down).index.unique(),
        columns=pd.Index(named[columns].unique(), name=columns),
    )


def accuracy_table(slopes: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the mean accuracy before pruning: [R] table 10.

    Every dense member counts once, regardless of the number of levels it was pruned to.

    Returns:
        One row per combination of factors other than the level: these, `members` and `accuracy`, a share.
    """
    factors = [name for name in factors_of(slopes, "accuracy_before") if name != "level"]
    rows = []
    for group, members in groups_of(slopes, factors):
        dense = members.drop_duplicates("member")["accuracy_before"]
        rows.append({**group, "members": len(dense), "accuracy": dense.mean()})
    return pd.DataFrame(rows)


def variance_table(slopes: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the mean variance of recall over the classes, before pruning and at each level: [R] table 11.

    `table[levels].gt(table["before"], axis=0)` marks where it grew, bold in [R]. `slope_means` marks it for every level
    relative to only those dense members whose pruned ones exist.

    Returns:
        One row per combination of factors other than the level, their index: `before`, then a column per level.
    """
    factors = [
        name
        for name in factors_of(slopes, "level", "variance_before", "variance_after")
        if name != "level"
    ]
    rows = []
    for group, members in groups_of(slopes, factors):
        before = members.drop_duplicates("member")["variance_before"].mean()
        after = {
            key["level"]: level["variance_after"].mean()
            for key, level in groups_of(members, ["level"])
        }
        rows.append({**group, "before": before, **after})
    return pd.DataFrame(rows).set_index(factors) if factors else pd.DataFrame(rows)


def level_table(slopes: pd.DataFrame, *, dense: object = "dense") -> pd.DataFrame:
    """Tabulate accuracy and intensification at each level, the dense models first: [R] tables 12 and 13, figure 13.

    `dense` is the name of the level without compression: 0.0 among sparsities, 1 among pruning ratios.

    Columns: the factors of `slopes`, `members`, `accuracy`, `accuracy_se`, `alpha`, `alpha_se`: means over the members
    and their standard errors; alpha is NaN without compression.
    """
    factors = factors_of(slopes, "level", "accuracy_before")
    parts = []
    for group, members in groups_of(slopes, [name for name in factors if name != "level"]):
        before = members.drop_duplicates("member")["accuracy_before"]
        accuracy = {"members": len(before), "accuracy": before.mean(), "accuracy_se": before.sem()}
        means = slope_means(members).rename(
            columns={"accuracy_after": "accuracy", "accuracy_after_se": "accuracy_se"}
        )
        parts += [pd.DataFrame([{**group, "level": dense, **accuracy}]), means]
    columns = [*factors, "members", "accuracy", "accuracy_se", "alpha", "alpha_se"]
    return pd.concat(parts, ignore_index=True)[columns]
