"""Controls that several pages share; the URL holds their values."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import pandas as pd
import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.app.limits import chosen_limits
from tfaudit.app.markdown import escape_name, unique_labels
from tfaudit.app.url_state import (
    choose,
    choose_from,
    option_reader,
    set_choices,
    set_control,
    url_choice,
)
from tfaudit.charts.style import distinct_names

T = TypeVar("T")

Act: TypeAlias = Callable[[Mapping[str, Any]], None]
"""Acts on what was clicked: the fields of a mark in a chart, or a row of a table."""

BUTTONS = 12  # with at most this many variants each has a button; more are a list
CLICKED = object()  # stands for a choice that a click in the chart has just changed


def choose_option(label: str, options: Mapping[str, T], key: str, **settings: Any) -> T:
    """Return the chosen one of a few options, which are buttons with texts; by default the first."""
    texts = list(options)
    control = st.segmented_control
    chosen = choose_from(control, label, texts, key, texts[0], required=True, **settings)
    return options[chosen]


def variant_labels(study_audit: StudyAudit) -> dict[str, str]:
    """Return the labels of all variants in choices and in the URL, by key."""
    titles = study_audit.data.titles
    return dict(zip(titles, unique_labels(list(titles.values())), strict=True))


def _compressed(study_audit: StudyAudit) -> dict[str, str]:
    """Return the keys of the compressed variants, by their labels."""
    return {label: key for key, label in variant_labels(study_audit).items() if key != BASELINE}


def choose_variant(study_audit: StudyAudit) -> str:
    """Draw the choice of a compressed variant, the URL parameter `variant`, and return its key.

    A page opens on the variant that the verdict names first, one of `menu.WHO_PAYS` on the variant that harms a class
    most. What a visitor chooses holds on all pages.
    """
    keys = _compressed(study_audit)
    labels = list(keys)
    default = _opened_on(study_audit)
    settings: dict[str, Any] = {"required": True} if len(keys) <= BUTTONS else {}
    control = st.segmented_control if len(keys) <= BUTTONS else st.selectbox
    settings |= {"format_func": escape_name, "remembered": True}
    return keys[choose_from(control, "Variant", labels, "variant", default, **settings)]


def shown_variant(study_audit: StudyAudit) -> str:
    """Return the key of the chosen variant, as `choose_variant` does, without drawing a control."""
    keys = _compressed(study_audit)
    return keys[
        url_choice(
            "variant",
            _opened_on(study_audit),
            option_reader("variant", {label: label for label in keys}),
        )
    ]


def _opened_on(study_audit: StudyAudit) -> str:
    """Return the label of the variant on which the page opens."""
    verdict = study_audit.verdict(chosen_limits(study_audit))
    key = verdict.worst if st.session_state.get("asks who pays") else verdict.lead
    return variant_labels(study_audit)[key or study_audit.data.compressed_keys[0]]


def set_variant(study_audit: StudyAudit, title: str | None) -> None:
    """Choose the variant of a title or label that was clicked in a chart or table; the baseline is none."""
    for label, key in _compressed(study_audit).items():
        if title in (label, study_audit.data.titles[key]):
            set_choices(variant=label)


def choose_class(names: Sequence[str], default: int | None = None) -> int | None:
    """Return the class that the page is about, by default none or a given one. The URL parameter is `class`."""
    options = unique_labels(names)
    first = None if default is None else options[default]
    name = choose_from(
        st.selectbox,
        "Class",
        options,
        "class",
        first,
        placeholder="Type to search",
    )
    return None if name is None else options.index(name)


def class_label(names: Sequence[str], name: str | None) -> str | None:
    """Return the label of a class in choices, by that label, its distinct name in a chart or its name; None if none."""
    distinct = distinct_names(pd.Series(names))
    known = zip(unique_labels(names), distinct, names, strict=True)
    return next((its_names[0] for its_names in known if name in its_names), None)


def draw_tabs(views: Mapping[str, Callable[..., None]], key: str, *arguments: Any) -> None:
    """Draw tabs by name and call only the open one's function with the arguments; the choice is `key` in the URL."""
    names = list(views)
    set_control(key, url_choice(key, names[0], option_reader(key, {name: name for name in names})))

    def keep() -> None:
        name = st.session_state[key]
        set_choices(**{key: None if name == names[0] else name})

    for tab, draw in zip(st.tabs(names, key=key, on_change=keep), views.values(), strict=True):
        if tab.open:
            with tab:
                draw(*arguments)


def is_unfolded(label: str, key: str) -> bool:
    """Draw a button that unfolds the content below it; in the URL as `key=true`."""
    return choose(
        st.toggle, label, key, False, option_reader(key, {"true": True}), write=lambda _: "true"
    )


def has_variants(study_audit: StudyAudit) -> bool:
    """Return whether the study has a compressed variant; if not, say so on the page."""
    if not study_audit.data.compressed_keys:
        st.info(
            "The study has no compressed variant to compare with; `tfaudit run` resumes where it stopped."
        )
    return bool(study_audit.data.compressed_keys)


def on_selection(
    key: str, now: object, act: Callable[[Any], None]
) -> Callable[[int], dict[str, Any]]:
    """Return what makes a chart or table change a choice when it is clicked: `key` and `on_select` of each panel.

    Clicking what is already selected sends no event. So when a choice changes elsewhere, such as by the button Back,
    the chart is replaced by a new one without a selection.

    Args:
        key: key of the chart or table.
        now: the choice that its clicks change, and the choices that decide which rows a table has.
        act: function that takes what was clicked, as Streamlit tells it, and changes the choice in the URL.
    """
    state = f"clicks of {key}"
    count, seen = st.session_state.get(state, (0, now))
    if seen not in (now, CLICKED):
        count += 1
    st.session_state[state] = count, now

    def settings(panel: int = 0) -> dict[str, Any]:
        name = f"{key} {count} {panel} {st.query_params.get('study', '')}"

        def clicked() -> None:
            st.session_state[state] = count, CLICKED
            act(st.session_state[name]["selection"])

        return {"key": name, "on_select": clicked}

    return settings
