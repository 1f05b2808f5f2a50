"""Slopes, accuracies and variances in the layout of the tables of [R].

Every function raises an `InputError` if its frame lacks a column.
"""

from typing import Any

import pandas as pd

from tfaudit.errors import InputError
from tfaudit.extensions.distortion.slopes import factors_of, groups_of, slope_means


def p_table(tests: pd.DataFrame, *, columns: str) -> pd.DataFrame:
    """Tabulate corrected p-values with pairs as rows and the values of one factor as columns: [R] tables 1-9.

    `columns` is a factor such as "model" (tables 1 and 9) or "level" (tables 5 to 8); `tests` is the frame of
    `slope_tests`. The values are `p_bonferroni`, indexed by the other factors that vary, and by `pair` if there are
    several.

    Raises:
        InputError: `columns` is not one of the factors held fixed.
    """
    fixed = list(tests.columns[: list(tests.columns).index("first")])
    if columns not in fixed:
        expected = f"a factor that the tests hold fixed ({', '.join(fixed) or 'none'})"
        raise InputError("columns", repr(columns), expected)
    pair = tests["first"].astype(str) + " vs " + tests["second"].astype(str)
    down = [name for name in fixed if name != columns and tests[name].nunique() > 1]
    down += ["pair"] if pair.nunique() > 1 or not down else []
    named = tests.assign(pair=pair)
    # `unstack(sort=False)` would keep the order, but puts values into wrong cells
    # (https://github.com/pandas-dev/pandas/issues/62816).
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
    dense = [
        {**group, "members": len(before), "accuracy": before["accuracy_before"].mean()}
        for group, _, before in _dense(slopes, "accuracy_before")
    ]
    return pd.DataFrame(dense)


def variance_table(slopes: pd.DataFrame) -> pd.DataFrame:
    """Tabulate the mean variance of recall over the classes, before pruning and at each level: [R] table 11.

    `table[levels].gt(table["before"], axis=0)` marks an increase, bold in [R]. For every level, `slope_means` compares
    only with dense members that have a pruned member.

    Returns:
        One row per combination of factors other than the level, their index: `before`, then a column per level.
    """
    rows = []
    for group, members, dense in _dense(slopes, "level", "variance_before", "variance_after"):
        levels = groups_of(members, ["level"])
        after = {level["level"]: part["variance_after"].mean() for level, part in levels}
        rows.append({**group, "before": dense["variance_before"].mean(), **after})
    table = pd.DataFrame(rows)
    return table.set_index(list(group)) if group else table


def _dense(
    slopes: pd.DataFrame, *needed: str
) -> list[tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]]:
    """Return every combination of factors except the level, with its rows and one row per dense member."""
    factors = [name for name in factors_of(slopes, *needed) if name != "level"]
    return [
        (group, members, members.drop_duplicates("member"))
        for group, members in groups_of(slopes, factors)
    ]


def level_table(slopes: pd.DataFrame, *, dense: object = "dense") -> pd.DataFrame:
    """Tabulate accuracy and intensification at each level, the dense models first: [R] tables 12 and 13, figure 13.

    `dense` is the name of the level without compression: 0.0 among sparsities, 1 among pruning ratios.

    Columns: the factors of `slopes`, `members`, `accuracy`, `accuracy_se`, `alpha`, `alpha_se`: means over the members
    and their standard errors; alpha is NaN without compression.
    """
    parts = []
    for group, members, models in _dense(slopes, "level", "accuracy_before"):
        before = models["accuracy_before"]
        accuracy = {"members": len(before), "accuracy": before.mean(), "accuracy_se": before.sem()}
        names = {"accuracy_after": "accuracy", "accuracy_after_se": "accuracy_se"}
        means = slope_means(members).rename(columns=names)
        parts += [pd.DataFrame([{**group, "level": dense, **accuracy}]), means]
    columns = [*factors_of(slopes), "members", "accuracy", "accuracy_se", "alpha", "alpha_se"]
    return pd.concat(parts, ignore_index=True)[columns]
