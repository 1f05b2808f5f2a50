"""Which variant to ship, [P] 4.2: what passes the gate, an accuracy floor, the worth of size, fairness and accuracy."""

import dataclasses
import functools
import math

import numpy as np
import pandas as pd
import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.app.controls import choose_option, variant_labels
from tfaudit.app.display import link_to, show_alert, show_chart, show_notes, show_table
from tfaudit.app.drill_down import open_variant
from tfaudit.app.limits import choose_limits, say_limits
from tfaudit.app.markdown import escape
from tfaudit.app.url_state import choose, choose_from, number_reader, single_choice
from tfaudit.app.viewer_page import ViewerPage
from tfaudit.audits.gate.checks import PASS
from tfaudit.audits.verdict.study_verdict import StudyVerdict
from tfaudit.errors import bytes_in_words
from tfaudit.extensions.operating_points.operating_points import (
    GATE,
    OperatingPoints,
    operating_points,
    pareto_shares,
)
from tfaudit.extensions.operating_points.study_points import costs_and_accuracy

CHOICE = (
    "Which variant to ship. Unfairness is the largest minus the smallest recall of a class. The Pareto set holds the "
    "variants that no other beats in one objective without losing in another."
)
PAGE = ViewerPage(__name__, "Trade-offs", ("unfairness",), definition=CHOICE)

WORTHS = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""Worths of a point that can be chosen, each about twice the one before."""

POINTS = (
    "title",
    "gate",
    "chosen",
    "size",
    "sparsity",
    "time",
    "accuracy",
    "unfairness",
    "pareto",
    "pareto_share",
    "behind",
    "above_floor",
)

COSTS = {"size": "min", "sparsity": "max", "time": "min"}
"""Measures of cost and the direction that is better. One is offered if three variants or more have a value."""


def page(study_audit: StudyAudit) -> None:
    """Draw the page."""
    table = costs_and_accuracy(study_audit)
    axes = [name for name in COSTS if table.loc[table[name].notna(), "variant"].nunique() > 2]
    if not axes:
        st.info(
            "Fewer than three variants have a known size, sparsity or latency: there is no trade-off to choose from. "
            "`tfaudit run` records sizes, `tfaudit cost` measures latency."
        )
        return
    st.markdown(
        "A variant is never chosen if it fails the gate, cannot be judged, or passes only without the correction for "
        "all variants. "
        "By default the choice is the same as in Verdict: the smallest variant that passes with it. "
        "Set the lowest acceptable accuracy and what a point of each objective is worth to you: the variant of the "
        "Pareto set that is worth most is chosen."
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        limits = choose_limits(study_audit)
        say_limits(limits)
    verdict = study_audit.verdict(limits)
    axis = (
        choose_option("Cost", {name: name for name in axes}, "against")
        if len(axes) > 1
        else single_choice("against", axes[0])
    )
    floor = _choose_floor(table, verdict.limits.overall_drop_pp)
    weights = _choose_weights(axis)
    points = operating_points(
        table,
        objectives=_objectives(axis),
        floor=floor,
        weights=weights,
        outcomes=verdict.outcomes,
    )
    if axis == axes[0] and not weights["unfairness"] and not weights["accuracy"]:
        points = _as_on_overview(points, verdict)
    _show_choice(study_audit, points, verdict)
    frame = points.frame()
    judged_out = frame.loc[~frame["gate"].isin([np.nan, GATE[PASS]]), "variant"]
    shares = _pareto_shares(study_audit.data.fingerprint, table, axis, floor, tuple(judged_out))
    best = frame.loc[frame["pareto"], "value"].max()
    frame["pareto_share"] = frame["variant"].map(shares)
    frame["behind"] = 100 * (best - frame["value"])
    text = (
        f"Unfairness and accuracy against {axis}, a point per variant; blue, the Pareto set; the green diamond is "
        "chosen; red fails the gate; amber cannot be judged or passes uncorrected. A click on one opens its variant."
    )
    name = "operating-points"
    click = functools.partial(open_variant, study_audit)
    show_chart(points.chart(), name, text, click=click, fields=["title"])
    show_table(frame, name, POINTS, table="points", click=click)
    show_notes(points.notes)


def _objectives(axis: str) -> dict[str, str]:
    """Return the direction that is better of the cost, of unfairness and of accuracy."""
    return {axis: COSTS[axis], "unfairness": "min", "accuracy": "max"}


def _as_on_overview(points: OperatingPoints, verdict: StudyVerdict) -> OperatingPoints:
    """Return the points with the variant chosen that Overview recommends, unless it is below the accuracy floor."""
    frame = points.frame()
    recommended = frame["above_floor"] & (frame["variant"] == verdict.best)
    return (
        dataclasses.replace(points, points=frame.assign(chosen=recommended))
        if recommended.any()
        else points
    )


@st.cache_data(max_entries=20, show_spinner=False)
def _pareto_shares(
    fingerprint: str, _table: pd.DataFrame, axis: str, floor: float | None, without: tuple[str, ...]
) -> pd.Series:
    allowed = _table[~_table["variant"].isin(without)]
    return pareto_shares(allowed, objectives=_objectives(axis), floor=floor)


def _choose_floor(table: pd.DataFrame, drop_pp: float | None) -> float | None:
    """Return the lowest acceptable accuracy, a share.

    The left end of the slider is the floor of the gate: the baseline's accuracy minus the drop that the gate allows. If
    the gate does not limit the drop, the left end is no floor: None.
    """
    means = table.groupby("variant")["accuracy"].mean()
    floor = None if drop_pp is None else max(means[BASELINE] - drop_pp / 100, 0.0)
    low = math.floor(1000 * (means.min() if floor is None else floor)) / 10
    high = max(math.ceil(1000 * means.max()) / 10, low + 0.1)
    least = (
        "none" if drop_pp is None else f"that of the gate, {drop_pp:g} points below the baseline"
    )
    percent = choose(
        st.slider,
        "Accuracy floor, %",
        "floor",
        low,
        number_reader("floor", low, high, float),
        write="{:g}".format,
        min_value=low,
        max_value=high,
        step=0.1,
        format="%.1f",
        help=f"Variants with a lower mean accuracy are excluded. The left end is {least}.",
    )
    return percent / 100 if percent > low else floor


def _choose_weights(axis: str) -> dict[str, float]:
    """Return the worth of a percentage point of each objective."""
    less = "a point more sparsity" if axis == "sparsity" else f"a percent less {axis}"
    choices = {
        axis: ("worth", less, 1.0),
        "unfairness": ("worth-unfairness", "a point less unfairness", 0.0),
        "accuracy": ("worth-accuracy", "a point more accuracy", 0.0),
    }
    form = "{:g}".format
    return {
        objective: choose_from(
            place.select_slider,
            f"Worth of {change}",
            WORTHS,
            key,
            default,
            write=form,
            format_func=form,
        )
        for place, (objective, (key, change, default)) in zip(
            st.columns(3), choices.items(), strict=True
        )
    }


def _show_choice(study_audit: StudyAudit, points: OperatingPoints, verdict: StudyVerdict) -> None:
    rows = points.frame().set_index("variant")
    if verdict.best is None:
        show_alert(verdict.headline)
    elif not rows["chosen"].any():
        st.warning("No variant that passes the gate reaches the accuracy floor.")
    for variant in rows.index[rows["chosen"]]:
        left, right = st.columns([5, 1], vertical_alignment="center")
        left.success(
            escape(f"Chosen: {_describe(study_audit, rows, variant)}"),
            icon=":material/check_circle:",
        )
        with right:
            if variant != BASELINE:
                link_to("classes", "Its classes", variant=variant_labels(study_audit)[variant])


def _describe(study_audit: StudyAudit, rows: pd.DataFrame, variant: str) -> str:
    """Return the accuracy, unfairness and cost of a variant in words, with their change from the baseline."""
    titles = study_audit.data.titles
    parts = []
    for name, unit in (("accuracy", "% accurate"), ("unfairness", "points of unfairness")):
        change = ""
        if variant != BASELINE and BASELINE in rows.index:
            points = 100 * (float(rows[name][variant]) - float(rows[name][BASELINE]))
            change = f" ({points:+.2f})".replace("-", "−")
        parts.append(f"{100 * float(rows[name][variant]):.2f} {unit}{change}")
    sizes = study_audit.summary.table.set_index("variant")[["gzipped_bytes", "bytes"]].astype(
        "float64"
    )
    for name, place in (("gzipped_bytes", "gzipped"), ("bytes", "on disk")):
        size = float(sizes[name][variant])
        dense = float(sizes[name][BASELINE])
        if not np.isnan(size):
            share = f" ({100 * size / dense:.1f} % of {titles[BASELINE]})" if dense > 0 else ""
            parts.append(f"{bytes_in_words(size)} {place}{share}")
    time = study_audit.latency("ms").get(variant)
    if time is not None and pd.notna(time):
        parts.append(f"{time:.3g} ms per example on the machine that measured it")
    return f"{titles[variant]}: {', '.join(parts)}."
