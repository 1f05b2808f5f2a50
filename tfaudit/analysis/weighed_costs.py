"""What people weigh when they choose a variant to ship: size, sparsity or time, beside accuracy and unfairness."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE

__all__ = ["COSTS", "choice_in_words", "known_costs", "weighed"]

COSTS = {"size": "min", "sparsity": "max", "time": "min"}
"""What a smaller model is measured by, and whether less is better."""


def weighed(study_audit: StudyAudit) -> pd.DataFrame:
    """`StudyAudit.trade_offs` in shares, so that one point of any objective is one hundredth.

    Columns: those of it, and `size`, gzipped, and `time`, the latency of one image where `tfaudit cost` measured it,
    both as shares of the baseline's; NaN where they are not known.
    """
    table = study_audit.trade_offs()
    dense = table.loc[table["variant"] == BASELINE, "gzipped kB"].mean()
    return table.assign(size=table["gzipped kB"] / dense, time=table["variant"].map(_latency(study_audit, "ratio")))


def known_costs(table: pd.DataFrame) -> list[str]:
    """Those of `COSTS` that at least three variants know: fewer are no trade-off.

    Args:
        table: as `weighed` gives it.
    """
    return [name for name in COSTS if table.loc[table[name].notna(), "variant"].nunique() > 2]


def choice_in_words(study_audit: StudyAudit, points: pd.DataFrame, variant: str) -> str:
    """A variant and what it costs, beside the baseline.

    Args:
        study_audit: of the study.
        points: of an `OperatingPoints` on what `weighed` gives.
        variant: key.
    """
    rows = points.set_index("variant")
    words = [
        f"{100 * float(rows[name][variant]):.2f} {unit}{_beside(rows, name, variant)}"
        for name, unit in _MEASURED.items()
    ]
    sizes = study_audit.audit.table.set_index("variant")[["gzipped_bytes", "bytes"]].astype("float64")
    for name, what in (("gzipped_bytes", "gzipped"), ("bytes", "on disk")):
        size, dense = float(sizes[name][variant]), float(sizes[name][BASELINE])
        if not np.isnan(size):
            share = f" ({100 * size / dense:.0f} % of {study_audit.titles[BASELINE]})" if dense > 0 else ""
            words.append(f"{_size(size)} {what}{share}")
    time = _latency(study_audit, "ms").get(variant)
    if time is not None and pd.notna(time):
        words.append(f"{time:.3g} ms an image on the machine that measured it")
    return f"{study_audit.titles[variant]}: {', '.join(words)}."


_MEASURED = {"accuracy": "% accurate", "unfairness": "points of unfairness"}


def _size(size: float) -> str:
    """Of so many bytes: three digits, and never an exponent.

    Example:
        >>> _size(34_570), _size(999_600), _size(21_660_000), _size(2.5e12)
        ('34.6 kB', '1 MB', '21.7 MB', '2,500 GB')
    """
    for unit, scale in (("kB", 1e3), ("MB", 1e6)):
        if size < 999.5 * scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size / 1e9:.3g} GB" if size < 999.5e9 else f"{size / 1e9:,.0f} GB"


def _beside(rows: pd.DataFrame, name: str, variant: str) -> str:
    if variant == BASELINE or BASELINE not in rows.index:
        return ""
    change = float(rows[name][variant]) - float(rows[name][BASELINE])
    return f" ({100 * change:+.2f})".replace("-", "−")


def _latency(study_audit: StudyAudit, what: str) -> dict[str, float]:
    """Of one image, by variant; nothing where it was not measured."""
    costs = study_audit.store.table("costs")
    column = f"latency_1_{what}"
    return {} if costs is None or column not in costs else dict(zip(costs["variant"], costs[column], strict=True))
