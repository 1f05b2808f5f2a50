"""Named groups of examples, such as people's sexes, as options of commands: a table, and which of its columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tfaudit.cli.options import option
from tfaudit.errors import InputError, require, require_least

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from tfaudit.readers.outcome_files import OutcomeSides

PANEL = "Named groups"


@dataclasses.dataclass(frozen=True, kw_only=True)
class GroupOptions:
    """Named groups of the examples."""

    groups: Annotated[
        Path | None,
        option(
            "Table of the groups of the examples, such as their writers, joined by example id; by default the "
            "groups that a study or the files of outcomes hold.",
            panel=PANEL,
        ),
    ] = None
    group: Annotated[
        list[str] | None,
        option(
            "Column of groups, or A*B for two together; repeatable, by default all.", panel=PANEL
        ),
    ] = None
    min_group: Annotated[
        int, option("Take groups of fewer examples together, as one group.", panel=PANEL)
    ] = 0

    def __post_init__(self) -> None:
        require_least(0, min_group=self.min_group)

    def of(
        self, read: Callable[[Path], pd.DataFrame], own: pd.DataFrame | None, where: str
    ) -> pd.DataFrame | None:
        """Return the columns that are meant: of the table, or of a source's own groups; None without any.

        Args:
            read: reads the table, with a row per example.
            own: groups that the source `where` holds itself.
            where: the source, for errors.
        """
        if self.groups is not None:
            return self.chosen(read(self.groups), str(self.groups))
        return None if own is None else self.chosen(own, where)

    def of_outcomes(
        self, sides: OutcomeSides, where: str, id_name: str | None
    ) -> pd.DataFrame | None:
        """Return the columns for outcomes, which by default are those of the baseline's files."""
        first = sides.baseline
        own = sides.groups if len(sides.groups.columns) else None
        read = by_id(first.example_ids, first.num_examples, where, id_name)
        return self.of(read, own, where)

    def chosen(self, table: pd.DataFrame, where: str) -> pd.DataFrame:
        """Return the columns that are meant.

        Raises:
            InputError: no such column, or an unnamed one whose values are no groups.
        """
        import pandas as pd

        from tfaudit.audits.attributes.attributes import MANY
        from tfaudit.stats.group_codes import MISSING

        if not self.group:
            for name, count in table.nunique(dropna=False).items():
                expected = "--group NAME for each column to judge by"
                got = f"column {name!r} of {count:,} groups"
                if count > MANY:
                    raise InputError(where, got, expected)
            return table
        known = f"columns among {', '.join(map(str, table.columns))}, or A*B for two together"
        chosen = {}
        for name in self.group:
            parts = name.split("*")
            for part in parts:
                require(part in table.columns, "group", part, known)
            cells = table[parts].astype("string").fillna(MISSING)
            chosen[name] = cells.agg(", ".join, axis=1) if len(parts) > 1 else table[name]
        return pd.DataFrame(chosen)


def by_id(
    ids: np.ndarray | None, examples: int, where: str, id_name: str | None = None
) -> Callable[[Path], pd.DataFrame]:
    """Return what reads a table in the order of examples; arguments are those of `read_columns`."""
    from tfaudit.readers.prediction_files import read_columns

    return lambda path: read_columns(path, ids, examples, where, id_name=id_name)
