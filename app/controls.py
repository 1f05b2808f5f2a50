"""Controls that several pages share; the URL holds their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from tfaudit.analysis.study_data import BASELINE
from tfaudit.app.markdown import escape_name, unique_labels

if TYPE_CHECKING:
    from tfaudit.analysis.study_audit import StudyAudit

__all__ = [
    "change_count",
    "choose_class",
    "choose_option",
    "choose_variant",
    "choose_variants",
    "draw_tabs",
    "has_variants",
    "new_selection",
    "variant_labels",
]

T = TypeVar("T")

BUTTONS = 12
"""With at most this many variants each has a button; more are a list."""

MOST = 10
"""Variants that a chart shows by default: it has no more hues."""


def choose_option(label: str, options: Sequence[T], key: str, format_option: Callable[[T], str] = str) -> T:
    """Return the chosen one of a few options, each a button; by default the first.

    Args:
        label: above the buttons.
        options: at least one.
        key: of the choice in the URL.
        format_option: returns the Markdown of an option.
    """
    return st.segmented_control(
        label, options, default=options[0], required=True, format_func=format_option, key=key, bind="query-params"
    )


def variant_labels(study_audit: StudyAudit) -> dict[str, str]:
    """Return the labels of all variants in choices and in the URL, by key."""
    titles = study_audit.data.titles
    return dict(zip(titles, unique_labels(list(titles.values())), strict=True))


def choose_variant(study_audit: StudyAudit, *, baseline: bool = False) -> str:
    """Return the key of the variant that the page is about; the URL parameter is `variant`.

    Args:
        study_audit: of the study.
        baseline: whether the baseline is an option, too.
    """
    keys = {label: key for key, label in variant_labels(study_audit).items()}
    compressed = [label for label, key in keys.items() if key != BASELINE]
    options = list(keys) if baseline else compressed
    if len(options) > BUTTONS:
        return keys[_persistent(st.selectbox, "Variant", options, "variant", index=options.index(compressed[0]))]
    buttons = {"default": compressed[0], "required": True, "format_func": escape_name}
    return keys[_persistent(st.segmented_control, "Variant", options, "variant", **buttons)]


def choose_class(names: Sequence[str]) -> int | None:
    """Return the class that the page is about; None until one is chosen. The URL parameter is `class`."""
    options = unique_labels(names)
    chosen = _persistent(st.selectbox, "Class", options, "class", index=None, placeholder="Type to search")
    return None if chosen is None else options.index(chosen)


def choose_variants(study_audit: StudyAudit, keys: Sequence[str]) -> list[str]:
    """Return the keys of the variants that a chart compares, in their order; the URL parameter is `variants`.

    Args:
        study_audit: of the study.
        keys: of the variants that can be shown.
    """
    labels = variant_labels(study_audit)
    options = [labels[key] for key in keys]
    chosen = st.multiselect("Variants", options, default=options[:MOST], key="variants", bind="query-params")
    if not chosen:
        st.caption("Choose at least one variant.")
    return [key for key in keys if labels[key] in chosen]


def change_count(key: str) -> int:
    """Return how often the visitor has changed a control. Earlier selections in charts and tables are then outdated.

    Args:
        key: of the control.
    """
    return st.session_state.get(f"changes of {key}", 0)


def _persistent(widget: Callable[..., Any], label: str, options: Sequence[str], key: str, **settings: Any) -> Any:
    """Return the value of a control that keeps its value on the next page, where the URL has lost it.

    Options are text, not positions: a choice that another study does not have is then no choice.
    """
    last = st.session_state.get(f"last {key}")
    if key not in st.query_params and last in options and st.session_state.get(key, last) == last:
        st.session_state[key] = last  # Streamlit forgets a bound value that is not in the URL
    chosen = widget(label, options, key=key, bind="query-params", on_change=_count_change, args=(key,), **settings)
    st.session_state[f"last {key}"] = chosen
    return chosen


def _count_change(key: str) -> None:
    st.session_state[f"changes of {key}"] = change_count(key) + 1


def draw_tabs(views: Mapping[str, Callable[[], None]], key: str) -> None:
    """Draw tabs, of which only the open one runs.

    Args:
        views: functions that draw the tabs, by name.
        key: of the choice in the URL.
    """
    for tab, draw in zip(st.tabs(list(views), key=key, bind="query-params"), views.values(), strict=True):
        if tab.open:
            with tab:
                draw()


def has_variants(study_audit: StudyAudit) -> bool:
    """Return whether the study has a compressed variant; where not, the page says so."""
    if not study_audit.data.compressed_keys:
        st.info("The study has no compressed variant to compare with; `tfaudit run` resumes where it stopped.")
    return bool(study_audit.data.compressed_keys)


def new_selection(key: str, name: str) -> Any:
    """Return what the visitor has just selected in a chart or table, or deselected; None if nothing changed.

    A selection stays while the page runs again for other reasons; only a change is a click.

    Args:
        key: of the chart or table.
        name: of the chart's parameter, or "rows".
    """
    selected = st.session_state.get(key, {}).get("selection", {}).get(name)
    before, st.session_state[f"{key} before"] = st.session_state.get(f"{key} before"), selected
    return None if selected == before or (before is None and not selected) else selected
