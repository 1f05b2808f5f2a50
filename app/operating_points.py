"""Which variant to ship: the Pareto set, an accuracy floor, and what fairness, accuracy and size are worth. [P] 4.2."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import streamlit as st

from tfaudit.analysis.study_data import BASELINE
from tfaudit.app.choosing import choose_among
from tfaudit.app.showing import show_chart, show_notes, show_table
from tfaudit.app.text import prose
from tfaudit.audit.operating_points import OperatingPoints, operating_points

if TYPE_CHECKING:
    from tfaudit.analysis.study_audit import StudyAudit

__all__ = ["page"]

SAYS = (
    "Which variants are worth a choice between cost, accuracy and unfairness, the gap between the best and the worst "
    "recall of a class: those that no other beats in one of the three without losing in another. Say how accurate a "
    "model must be, and what a point of each is worth to you; the variant of the highest value is chosen."
)

WORTHS = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""Of a point, as people weigh: each about twice the one before."""

_number = st.column_config.NumberColumn
_text = st.column_config.TextColumn
POINTS = {
    "title": _text("variant", pinned=True),
    "size": _number(format="percent", help="Gzipped, of the baseline's"),
    "sparsity": _number(format="percent", help="Zeros among the prunable weights"),
    "time": _number(format="percent", help="Latency of one image, of the baseline's, on this machine"),
    "accuracy": _number(format="percent", help="Top-1, mean over members"),
    "unfairness": _number("unfairness", format="percent", help="Gap between recalls of classes, mean over members"),
    "above_floor": st.column_config.CheckboxColumn("above the floor"),
    "pareto": st.column_config.CheckboxColumn("Pareto set", help="No other point is as good in all and better in one"),
    "value": _number(format="%.3f", help="Sum of worth times objective, in points"),
    "chosen": st.column_config.CheckboxColumn(),
}


COSTS = {"size": "min", "sparsity": "max", "time": "min"}
"""Measures of a smaller model, and whether less is better. Offered where three variants or more have a value."""


def page(study_audit: StudyAudit) -> None:
    """Draws the page."""
    st.title("Operating points")
    table = study_audit.trade_offs()
    axes = [name for name in COSTS if table.loc[table[name].notna(), "variant"].nunique() > 2]
    if not axes:
        st.info(
            "Fewer than three variants are known by their size, their sparsity or their latency: there is no trade-off "
            "to choose from. `tfaudit run` records sizes, `tfaudit cost` measures latency."
        )
        return
    st.markdown(prose(SAYS))
    axis = choose_among("Set against", axes, "against") if len(axes) > 1 else axes[0]
    objectives = {axis: COSTS[axis], "unfairness": "min", "accuracy": "max"}
    floor = _choose_floor(table)
    weights = _choose_weights(axis)
    found = operating_points(table, objectives=objectives, floor=floor, weights=weights)
    _say(study_audit, found)
    show_chart(found.chart(), "operating-points", f"Unfairness and accuracy against {axis}, a point per variant.")
    frame = found.frame().assign(value=lambda rows: 100 * rows["value"])
    show_table(frame, "operating-points", {name: how for name, how in POINTS.items() if name in frame})
    show_notes(found.notes)


def _choose_floor(table: pd.DataFrame) -> float | None:
    """The lowest accuracy that is acceptable, a share; None at the left end of the slider."""
    means = 1000 * table.groupby("variant")["accuracy"].mean()
    low, high = math.floor(means.min()) / 10, math.ceil(means.max()) / 10
    high = max(high, low + 0.1)
    if not low <= st.session_state.get("floor", low) <= high:  # chosen in another study
        del st.session_state["floor"]
    percent = st.slider(
        "Accuracy floor, %",
        low,
        high,
        low,
        step=0.1,
        format="%.1f",
        key="floor",
        bind="query-params",
        help="Variants whose mean accuracy lies below are out of the question.",
    )
    return percent / 100 if percent > low else None


def _choose_weights(axis: str) -> dict[str, float]:
    """The worth of a point of each objective; all are shares, so that one point is one hundredth of any."""
    asked = {
        axis: ("a point more sparsity" if axis == "sparsity" else f"a percent less {axis}", 1.0),
        "unfairness": ("a point less unfairness", 10.0),
        "accuracy": ("a point more accuracy", 10.0),
    }
    weights = {}
    for place, (objective, (words, first)) in zip(st.columns(3), asked.items(), strict=True):
        weights[objective] = place.select_slider(
            f"Worth of {words}",
            WORTHS,
            value=first,
            format_func="{:g}".format,
            key="worth" if objective == axis else f"worth-{objective}",
            bind="query-params",
        )
    return weights


def _say(study_audit: StudyAudit, found: OperatingPoints) -> None:
    """What is chosen, and what it costs."""
    points = found.frame()
    if not points["chosen"].any():
        st.warning("No variant reaches the accuracy floor.")
    for variant in points.loc[points["chosen"], "variant"]:
        st.success(prose(f"Chosen: {_choice_in_words(study_audit, points, variant)}"), icon=":material/check_circle:")


def _choice_in_words(study_audit: StudyAudit, points: pd.DataFrame, variant: str) -> str:
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
    sizes = study_audit.summary.table.set_index("variant")[["gzipped_bytes", "bytes"]].astype("float64")
    for name, what in (("gzipped_bytes", "gzipped"), ("bytes", "on disk")):
        size, dense = float(sizes[name][variant]), float(sizes[name][BASELINE])
        if not np.isnan(size):
            share = f" ({100 * size / dense:.0f} % of {study_audit.data.titles[BASELINE]})" if dense > 0 else ""
            words.append(f"{_size(size)} {what}{share}")
    time = study_audit.latency("ms").get(variant)
    if time is not None and pd.notna(time):
        words.append(f"{time:.3g} ms an image on the machine that measured it")
    return f"{study_audit.data.titles[variant]}: {', '.join(words)}."


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
