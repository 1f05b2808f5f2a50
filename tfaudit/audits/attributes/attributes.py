"""Attributes that exemplars have more often than other examples: [F] 3.2, CelebA."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.exemplars.exemplars import exemplars
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import InputError, require_level
from tfaudit.predictions import Predictions
from tfaudit.stats.group_codes import MISSING, group_codes
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.proportions import Proportions, compare_proportions

MANY = 50
"""More distinct numbers than this are a measurement, not an attribute."""


@dataclasses.dataclass(frozen=True)
class Attributes(Result):
    """Shares of exemplars and of other examples with each attribute.

    Attributes:
        table: one row per attribute and value; see `frame`.
        pies, others: number of exemplars (PIEs) and of other examples.
        alpha: level of the tests; intervals are at level 1 - alpha.
        notes: caveats for the reader, one sentence each.
    """

    table: pd.DataFrame
    pies: int
    others: int
    alpha: float
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return one row per attribute and value; yes-no attributes have only the row of "yes".

        Columns: `attribute`; `value`; `examples` with the value; `pies` and `non_pies` among them; `share_pie` and
        `share_non_pie`, shares of all PIEs and of all others; `ratio`, above 1 if PIEs over-index, NaN if no other
        example has the value; `difference_pp` with `low_pp` and `high_pp`, Newcombe's interval; `test`, z or Fisher
        exact; `p`; `p_holm`, over all rows.
        """
        return self.table.copy()

    def summary(self) -> dict[str, Any]:
        """Return counts of rows that over- and under-index (Holm-corrected), and the highest ratio of the former."""
        significant = self.table[self.table["p_holm"] <= self.alpha]
        over = significant[significant["difference_pp"] > 0]
        most = next(iter(over.nlargest(1, "ratio").to_dict("records")), None)
        return {
            "pies": self.pies,
            "non_pies": self.others,
            "values": len(self.table),
            "over": len(over),
            "under": int((significant["difference_pp"] < 0).sum()),
            "most_over": None if most is None else f"{most['attribute']}: {most['value']}",
            "most_over_ratio": float("nan") if most is None else most["ratio"],
        }

    def chart(self) -> Drawing:
        """Draw the share of PIEs and of other examples with each attribute."""
        from tfaudit.audits.attributes.chart import over_indexing_chart

        return over_indexing_chart(self.table, self.alpha)


def attributes(
    baseline: Predictions,
    compressed: Predictions,
    table: pd.DataFrame,
    *,
    alpha: float = 0.05,
) -> Attributes:
    """Test for every attribute whether exemplars have it more or less often than other examples: [F] 3.2.

    Args:
        baseline: the uncompressed population.
        compressed: the compressed population, on the same examples.
        table: `(N,)` rows in the order of the examples; its index is ignored. A column of booleans or of 0 and 1 is one
            attribute; in any other column each value is an attribute. Missing values are a value of their own.
        alpha: level of the tests, in (0, 1).

    Raises:
        InputError: different examples, a table of another length or without columns, or over 50 numbers in a column.

    Example:
        >>> before = Predictions.from_top1([0, 0, 1, 1], [0, 0, 1, 1])
        >>> after = Predictions.from_top1([0, 0, 1, 1], [0, 1, 1, 0])
        >>> table = pd.DataFrame({"blurred": [0, 1, 0, 1]})
        >>> attributes(before, after, table).frame()[["attribute", "value", "share_pie", "share_non_pie", "test"]]
          attribute value  share_pie  share_non_pie          test
        0   blurred   yes        1.0            0.0  Fisher exact
    """
    require_level("alpha", alpha)
    identified = exemplars(baseline, compressed)
    count = baseline.num_examples
    if not isinstance(table, pd.DataFrame) or len(table) != count or not table.columns.size:
        form = f"shape {table.shape}" if isinstance(table, pd.DataFrame) else type(table).__name__
        raise InputError("table", form, f"a DataFrame with a row for each of the {count} examples")
    pie = np.isin(np.arange(count), identified.index)
    parts = []
    for position, name in enumerate(table.columns):
        codes, values, shown = _values(table.iloc[:, position], str(name))
        counts = {
            "examples": np.bincount(codes, minlength=len(values)),
            "pies": np.bincount(codes[pie], minlength=len(values)),
        }
        counts["non_pies"] = counts["examples"] - counts["pies"]
        named = {"attribute": str(name), "value": values}
        parts.append(pd.DataFrame(named | counts).iloc[shown])
    counted = pd.concat(parts, ignore_index=True)
    pies = int(pie.sum())
    sizes = [np.full(len(counted), size) for size in (pies, count - pies)]
    proportions = compare_proportions(
        counted["pies"], sizes[0], counted["non_pies"], sizes[1], confidence=1 - alpha
    )
    notes = {
        "There are no PIEs: their shares are undefined, and nothing is tested.": pies == 0,
        "All examples are PIEs: there are no others to compare them with.": pies == count,
    }
    return Attributes(
        counted.assign(**share_columns(proportions)),
        pies,
        count - pies,
        alpha,
        tuple(note for note, applies in notes.items() if applies),
    )


def share_columns(proportions: Proportions) -> dict[str, np.ndarray]:
    """Return the columns of `Attributes.frame` from the shares of exemplars (first) and of others (second): [F] 3.2.

    Example:
        >>> columns = share_columns(compare_proportions([30, 2], [100, 10], [15, 1], [100, 10]))
        >>> columns["difference_pp"].round(), columns["p_holm"].round(3)
        (array([15., 10.]), array([0.022, 1.   ]))
    """
    return {
        "share_pie": proportions.first,
        "share_non_pie": proportions.second,
        "ratio": proportions.ratio,
        "difference_pp": 100 * (proportions.first - proportions.second),
        "low_pp": 100 * proportions.low,
        "high_pp": 100 * proportions.high,
        "test": proportions.test,
        "p": proportions.p,
        "p_holm": adjust(proportions.p, "holm"),
    }


def _values(column: pd.Series, name: str) -> tuple[np.ndarray, list[str], list[int]]:
    """Return codes of the examples, names of the values, and the values that get a row."""
    known = column.dropna()
    # 0.0 and 1.0 with missing values, and booleans stored as objects, are yes and no, too.
    if len(known) and known.map(lambda value: not isinstance(value, str) and value in (0, 1)).all():
        missing = column.isna().to_numpy()
        codes = np.where(missing, 2, (column == 1).to_numpy(bool, na_value=False))
        return codes, ["no", "yes", MISSING], [1, 2] if missing.any() else [1]
    if pd.api.types.is_numeric_dtype(column) and known.nunique() > MANY:
        numbers = f"{known.nunique()} distinct numbers in column {name!r}"
        raise InputError("table", numbers, f"at most {MANY}; cut them into ranges first")
    codes, values = group_codes(column, len(column), name)
    return codes, list(values), list(range(len(values)))
