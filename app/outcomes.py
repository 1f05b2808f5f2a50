"""The only page of compared outcomes: the verdict, what changes in every group, and the examples that change."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import streamlit as st

from tfaudit.app.controls import BUTTONS
from tfaudit.app.display import PAGE_STYLE, show_chart, show_notes, show_table
from tfaudit.app.markdown import escape, escape_name
from tfaudit.app.url_state import choose_from, single_choice, start_notices
from tfaudit.charts.change_rows import change_rows
from tfaudit.errors import InputError
from tfaudit.outlets.columns import prose
from tfaudit.outlets.outcome_folder import ModelOutcomes, read_outcome_folder
from tfaudit.store.files import path_outside

COLOURS = {"pass": "green", "fail": "red", "cannot judge": "orange"}
GROUP_COLUMNS = (
    "group",
    "examples",
    "before",
    "after",
    "change_pp",
    "change_low_pp",
    "change_high_pp",
    "p_holm",
)


def page(directory: Path) -> None:
    """Draw the page of a folder that `tfaudit audit --outcome --out` wrote; an error becomes one line on it."""
    st.set_page_config(page_title="Outcomes · tfaudit")
    start_notices()
    st.html(PAGE_STYLE)
    try:
        if link := path_outside(directory, directory):
            got = f"{link}, which is a link out of {directory}"
            raise InputError("directory", got, "files within it alone")
        folder = read_outcome_folder(directory)
        st.title(f"What compression changes in {escape_name(folder.outcome)}")
        name = _model(list(folder.models))
        model = folder.models[name]
        _verdict(model)
        st.markdown(_in_words(model.findings))
        if len(model.groups) > 1:
            st.header("Groups")
            text = (
                "A row per group: its change with the interval; coloured where a change is shown."
            )
            title = "change of the mean outcome, points"
            chart = change_rows(model.groups, "group", title, alpha=folder.alpha)
            show_chart(chart, f"groups-{name}", text)
            by_loss = model.groups.iloc[1:].sort_values("change_pp", kind="stable")
            rows = pd.concat([model.groups.head(1), by_loss])
            show_table(rows, f"groups-{name}", GROUP_COLUMNS, table="outcomes")
        if len(model.examples):
            st.header("Examples that change")
            st.caption("Those that fall most beyond what two baseline models differ by come first.")
            known = model.examples.dropna(axis=1, how="all")
            show_table(known, f"examples-{name}", table="outcome examples")
        show_notes(model.notes)
    except InputError as error:
        st.error(escape(str(error)))


def _model(names: Sequence[str]) -> str:
    """Draw the choice of a compressed model, if there are several, and return its name."""
    if len(names) == 1:
        return single_choice("variant", names[0])
    control = st.segmented_control if len(names) <= BUTTONS else st.selectbox
    settings = {"required": True} if len(names) <= BUTTONS else {}
    model: str = choose_from(
        control, "Model", names, "variant", names[0], format_func=escape_name, **settings
    )
    return model


def _verdict(model: ModelOutcomes) -> None:
    """Draw the verdict with a sentence for each limit; nothing without one."""
    if not model.verdict:
        return
    colour = COLOURS.get(model.verdict, "gray")
    badge = f":{colour}-badge[**{escape(model.verdict.upper())}**]"
    st.markdown(f"{badge} {_in_words(model.checks)}")


def _in_words(sentences: Sequence[str]) -> str:
    return " ".join(escape(prose(sentence)) for sentence in sentences)
