"""Choices that several pages offer; the URL holds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from tfaudit.app.text import labels, plain

if TYPE_CHECKING:
    from tfaudit.analysis.study_audit import StudyAudit

__all__ = [
    "choose_among",
    "choose_class",
    "choose_variant",
    "choose_variants",
    "clicked",
    "draw_tabs",
    "has_variants",
    "times_chosen",
    "variant_labels",
]

T = TypeVar("T")

BUTTONS = 12
"""Up to so many variants each one has a button; more are a list."""

MOST = 10
"""Variants that are shown side by side before anybody chooses: a chart has no more hues."""


def choose_among(label: str, options: Sequence[T], key: str, named: Callable[[T], str] = str) -> T:
    """One of a few options, each a button; the first one until another is chosen.

    Args:
        label: above the buttons.
        options: at least one.
        key: of the choice in the URL.
        named: name of an option; Markdown.
    """
    return st.segmented_control(
        label, options, default=options[0], required=True, format_func=named, key=key, bind="query-params"
    )


def variant_labels(study_audit: StudyAudit) -> dict[str, str]:
    """What the variants are called in choices and in the URL, by their keys, the baseline too."""
    return dict(zip(study_audit.data.titles, labels(list(study_audit.data.titles.values())), strict=True))


def choose_variant(study_audit: StudyAudit, *, baseline: bool = False) -> str:
    """Which variant the page is about; the URL calls it `variant`.

    Args:
        study_audit: of the study.
        baseline: whether the baseline can be chosen, too.
    """
    named = {label: key for key, label in variant_labels(study_audit).items()}
    compressed = [label for label, key in named.items() if key != study_audit.summary.baseline]
    options = list(named) if baseline else compressed
    if len(options) > BUTTONS:
        return named[_lasting(st.selectbox, "Variant", options, "variant", index=options.index(compressed[0]))]
    buttons = {"default": compressed[0], "required": True, "format_func": plain}
    return named[_lasting(st.segmented_control, "Variant", options, "variant", **buttons)]


def choose_class(names: Sequence[str]) -> int | None:
    """Which class the page is about, found by typing; the URL calls it `class`. None until one is chosen."""
    options = labels(names)
    chosen = _lasting(st.selectbox, "Class", options, "class", index=None, placeholder="Type to search")
    return None if chosen is None else options.index(chosen)


def times_chosen(key: str) -> int:
    """How often a reader has used this choice: what was selected elsewhere before is no longer what they look at.

    Args:
        key: of the choice.
    """
    return st.session_state.get(f"times {key}", 0)


def _lasting(widget: Callable[..., Any], label: str, options: Sequence[str], key: str, **how: Any) -> Any:
    """A choice that the next page takes up: what came with the URL is lost on the way there.

    Options are text, not positions, so that a choice that another study does not know is none.
    """
    last = st.session_state.get(f"last {key}")
    if key not in st.query_params and last in options and st.session_state.get(key, last) == last:
        st.session_state[key] = last  # said anew, for a bound choice that is not in the URL is forgotten
    chosen = widget(label, options, key=key, bind="query-params", on_change=_count, args=(key,), **how)
    st.session_state[f"last {key}"] = chosen
    return chosen


def _count(key: str) -> None:
    st.session_state[f"times {key}"] = times_chosen(key) + 1


def choose_variants(study_audit: StudyAudit, keys: Sequence[str]) -> list[str]:
    """Which variants a chart compares, in their order; the URL calls them `variants`.

    Args:
        study_audit: of the study.
        keys: of the variants that can be shown.
    """
    named = variant_labels(study_audit)
    options = [named[key] for key in keys]
    chosen = st.multiselect("Variants", options, default=options[:MOST], key="variants", bind="query-params")
    return [key for key in keys if named[key] in chosen]


def draw_tabs(views: Mapping[str, Callable[[], None]], key: str) -> None:
    """Tabs of a page, of which the open one alone is drawn: the others wait until they are opened.

    Args:
        views: what draws each, by its name.
        key: of the choice in the URL.
    """
    for tab, draw in zip(st.tabs(list(views), key=key, bind="query-params"), views.values(), strict=True):
        if tab.open:
            with tab:
                draw()


def has_variants(study_audit: StudyAudit) -> bool:
    """Whether anything can be compared with the baseline; where not, the page says so.

    Args:
        study_audit: of the study.
    """
    if not study_audit.data.compressed_keys:
        st.info("The study holds no compressed variant to compare with; `tfaudit run` goes on where it stopped.")
    return bool(study_audit.data.compressed_keys)


def clicked(key: str, name: str) -> Any:
    """What a reader has just selected in a chart or table, or unselected; None where nothing happened there.

    A selection stays while the page runs again for other reasons; only a new one is a click.

    Args:
        key: of the chart or table.
        name: of the chart's parameter, or "rows".
    """
    now = st.session_state.get(key, {}).get("selection", {}).get(name)
    before, st.session_state[f"{key} before"] = st.session_state.get(f"{key} before"), now
    return None if now == before or (before is None and not now) else now
