"""Controls that several pages share; the URL holds their values."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.app.markdown import escape_name, unique_labels

T = TypeVar("T")

BUTTONS = 12  # with at most this many variants each has a button; more are a list
MOST = 10  # variants that a chart shows by default: it has no more hues


def choose_option(label: str, options: Sequence[T], key: str, format_option: Callable[[T], str] = str) -> T:
    """Return the chosen one of a few options, each a button that shows its Markdown; by default the first."""
    return st.segmented_control(
        label, options, default=options[0], required=True, format_func=format_option, key=key, bind="query-params"
    )


def variant_labels(study_audit: StudyAudit) -> dict[str, str]:
    """Return the labels of all variants in choices and in the URL, by key."""
    titles = study_audit.data.titles
    return dict(zip(titles, unique_labels(list(titles.values())), strict=True))


def choose_variant(study_audit: StudyAudit, *, baseline: bool = False) -> str:
    """Return the key of the variant that the page is about, or of the baseline if `baseline`; in the URL `variant`."""
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
    """Return which of the keys a chart compares, in their order; the URL parameter is `variants`."""
    labels = variant_labels(study_audit)
    options = [labels[key] for key in keys]
    chosen = st.multiselect("Variants", options, default=options[:MOST], key="variants", bind="query-params")
    if not chosen:
        st.caption("Choose at least one variant.")
    return [key for key in keys if labels[key] in chosen]


def change_count(key: str) -> int:
    """Return how often the visitor has changed a control. Earlier selections in charts and tables are then outdated."""
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
    """Draw tabs by name, of which only the open one runs; the key is that of the choice in the URL."""
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
    """Return what was just selected or deselected in the chart or table of a key; None if nothing changed.

    A selection stays while the page runs again for other reasons; only a change is a click. The name is "rows", or that
    of the chart's parameter.
    """
    selected = st.session_state.get(key, {}).get("selection", {}).get(name)
    before, st.session_state[f"{key} before"] = st.session_state.get(f"{key} before"), selected
    return None if selected == before or (before is None and not selected) else selected
