"""Tests of slopes between levels, methods, models or data sets: the hypotheses of [R] 7 and tables 1-9."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from tfaudit.errors import InputError, require, require_one_of
from tfaudit.extensions.distortion.mean_tests import compare_means
from tfaudit.extensions.distortion.slopes import factors_of, groups_of, in_order


def slope_tests(
    slopes: pd.DataFrame,
    factor: str,
    *,
    paired: bool,
    alternative: str = "two-sided",
    pairs: str | Sequence[tuple[Any, Any]] = "consecutive",
    within: Sequence[str] | None = None,
    family: str = "column",
) -> pd.DataFrame:
    """Compare E[alpha] between values of one factor, all others equal, by t-tests with Bonferroni's correction.

    Hypotheses of [R] 7, the first value of a pair against the second:

    - Consecutive ratios, tables 1-4: `slope_tests(s, "level", paired=True, alternative="less")`.
    - Sizes of a model, tables 5 and 6: `slope_tests(s, "model", paired=False, alternative="greater")`, smallest first.
    - Data sets, table 7: `slope_tests(s, "dataset", paired=False, alternative="less", pairs=[("mnist", "cifar10")],
      within=["level"])`: the models may differ with the data.
    - Methods, table 8: `slope_tests(s, "method", paired=True, pairs="all")`, pruned from the same dense parents.
    - Two methods for every ratio and model, table 9: the same with `pairs=[("magnitude", "undecayed")], family="all"`.

    Columns: the names in `within`, `first`, `second`, `members_first`, `members_second` (shared members, if paired),
    `mean_first`, `mean_second`, `difference` (first minus second), `t`, `df`, `p` and `p_bonferroni`. Tests with fewer
    than two members in a sample or with an undefined slope are NaN and do not count in the correction.

    Args:
        slopes: frame that `slope_frame` returns; of its values only `alpha` is needed.
        factor: column whose values are compared.
        paired: whether members of the same name share a dense parent, or all members are independent.
        alternative: "less" (the first slope is smaller), "greater" or "two-sided" (the default).
        pairs: "consecutive" (the default; numbers ascend, names keep the order of first appearance), "all", or a list
            of pairs.
        within: columns whose values are held fixed; all other factors by default.
        family: tests corrected together: "column" (the default) multiplies p by the number of tests that share all of
            `within`, "all" by the number of all tests.

    Raises:
        InputError: an unknown option, value or column, or several slopes of one member because a factor that varies is
            not in `within`.

    Example:
        >>> slopes = pd.DataFrame({"level": [2] * 3 + [4] * 3, "member": [0, 1, 2] * 2})
        >>> slopes["alpha"] = [1.0, 1.1, 1.3, 1.2, 1.3, 1.6]
        >>> slope_tests(slopes, "level", paired=True, alternative="less")[["first", "second", "p"]].round(4)
           first  second       p
        0      2       4  0.0099
    """
    factors = factors_of(slopes, "alpha")
    require_one_of("factor", factor, factors)
    others = [name for name in factors if name != factor]
    fixed = others if within is None else list(within)
    require(set(fixed) <= set(others), "within", within, f"names among {', '.join(others)}")
    require_one_of("family", family, ("column", "all"))
    _require_pairs(pairs, in_order(slopes[factor]))
    rows = []
    for stratum, members in groups_of(slopes, fixed):
        samples = {
            value: _sample(members, factor, value, stratum) for value in in_order(members[factor])
        }
        for first, second in _PAIRS[pairs](samples) if isinstance(pairs, str) else pairs:
            if not {first, second} <= samples.keys():
                continue
            one = samples[first]
            other = samples[second]
            if paired:
                shared = one.index.intersection(other.index, sort=False)
                one = one[shared]
                other = other[shared]
            test = compare_means(one, other, paired=paired, alternative=alternative)
            means = [sample.mean(skipna=False) for sample in (one, other)]
            figures = (len(one), len(other), *means, *dataclasses.astuple(test))
            rows.append((*stratum.values(), first, second, *figures))
    tests = pd.DataFrame(rows, columns=[*fixed, *_COLUMNS])
    by_column = fixed and family == "column"
    columns = tests.groupby(fixed if by_column else lambda row: 0)
    return tests.assign(p_bonferroni=(tests["p"] * columns["p"].transform("count")).clip(upper=1.0))


_COLUMNS = (
    "first",
    "second",
    "members_first",
    "members_second",
    "mean_first",
    "mean_second",
    "difference",
    "t",
    "df",
    "p",
)

_PAIRS: dict[str, Callable[[Iterable[Any]], Iterator[tuple[Any, Any]]]] = {
    "consecutive": itertools.pairwise,
    "all": lambda values: itertools.combinations(values, 2),
}


def _require_pairs(pairs: str | Sequence[tuple[Any, Any]], values: list[Any]) -> None:
    if isinstance(pairs, str):
        require(pairs in _PAIRS, "pairs", pairs, f"{', '.join(_PAIRS)} or a list of pairs")
        return
    for pair in pairs:
        valid = len(pair) == 2 and set(pair) <= set(values)
        require(valid, "pairs", pair, f"pairs of {', '.join(map(str, values))}")


def _sample(members: pd.DataFrame, factor: str, value: Any, stratum: dict[str, Any]) -> pd.Series:
    """Return the slopes at one value of the factor, by member."""
    sample = members[members[factor] == value].set_index("member")["alpha"]
    twice = sample.index[sample.index.duplicated()]
    if len(twice):
        place = ", ".join(f"{name} {part}" for name, part in {factor: value, **stratum}.items())
        got = f"{', '.join(stratum) or 'nothing'} (at {place} member {twice[0]} has several slopes)"
        raise InputError("within", got, "every factor that distinguishes the slopes of a member")
    return sample
