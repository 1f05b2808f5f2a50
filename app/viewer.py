"""The viewer's first page: a study's table and what each variant does to the classes.

`streamlit run viewer.py -- DIR`, or `tfaudit view DIR`. Draws results; computes nothing.
"""

from __future__ import annotations

import sys

import streamlit as st

from tfaudit.audit.summary import Summary
from tfaudit.errors import InputError
from tfaudit.report.study import read_study
from tfaudit.report.tables import columns
from tfaudit.store import open_store

__all__ = ["page"]


def page(arguments: list[str]) -> None:
    """Draws the page for the study's directory that the arguments name.

    Args:
        arguments: of the command line, after `--`.
    """
    st.set_page_config(page_title="tfaudit", layout="wide")
    try:
        if len(arguments) != 1:
            raise InputError(f"directory: {len(arguments)} given; run `tfaudit view DIR` with the one of a study")
        _study(arguments[0])
    except InputError as problem:
        st.error(str(problem))


def _study(directory: str) -> None:
    store = open_store(directory)
    st.title(f"What compression forgets: {store.study.name}")
    st.caption(f"{store.study.model} on {store.study.dataset}, {directory}")
    if not store.splits:
        raise InputError(f"directory: {directory} holds no predictions yet; `tfaudit run` makes them")
    splits = list(store.splits)
    split = st.selectbox("Split", splits, index=splits.index("test") if "test" in splits else 0)
    with st.spinner("Auditing"):
        audit = read_study(store, split)
    st.table({column.heading: column.cells for column in columns(audit)})
    for note in audit.notes:
        st.caption(note)
    _classes(audit)


def _classes(audit: Summary) -> None:
    st.header("Classes")
    if not audit.impacts:
        st.info("No compressed variant with two members or more: nothing to test per class.")
        return
    titles = dict(zip(audit.table["variant"], audit.table["title"], strict=True))
    variant = st.selectbox("Variant", list(audit.impacts), format_func=titles.__getitem__)
    st.altair_chart(audit.impacts[variant].chart(), width="stretch")
    st.dataframe(audit.impacts[variant].frame(), hide_index=True)


if __name__ == "__main__":
    page(sys.argv[1:])
