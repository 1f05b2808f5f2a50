"""From a directory to the study_audit that the pages show: which study, which split, read once for all visitors."""

from __future__ import annotations

import threading
from pathlib import Path

import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.text import labels, prose
from tfaudit.errors import InputError
from tfaudit.store.files import path_outside
from tfaudit.store.store import Store, find_studies, open_store

__all__ = ["open_study_audit"]


def open_study_audit(directory: Path) -> StudyAudit:
    """The study that the visitor chose in the side bar, audited; a bar shows how far, where that takes time.

    What a visitor sees stays as it was read, while members may be added, until the visitor asks for the new ones.

    Raises:
        InputError: no study, none with predictions, a damaged one, or one with links to other places.
    """
    studies = find_studies(directory)
    names = dict(zip(studies, labels(list(studies)), strict=True))
    with st.sidebar:
        name = next(iter(studies))
        if len(studies) > 1:
            name = st.selectbox("Study", list(studies), format_func=names.__getitem__, key="study", bind="query-params")
        if link := path_outside(studies[name], directory):
            raise InputError(f"directory: {link} is a link out of {directory}; the viewer shows nothing from elsewhere")
        store = open_store(studies[name])
        split = _choose_split(store)
        _leave(f"{name} {split}")
        now = StudyAudit.read(store, split)
        state = f"opened {name} {split}"
        opened = st.session_state.setdefault(state, now.data.fingerprint)
        st.caption(prose(f"{store.study.model} on {store.study.dataset}, {split}"))
        if now.data.fingerprint != opened:
            st.info("The study has changed since it was read here.")
            renew = {state: now.data.fingerprint}
            st.button("Read it again", icon=":material/refresh:", on_click=st.session_state.update, args=(renew,))
    shared = _shared(str(studies[name].resolve()), split, opened)
    if not shared.ready:
        _prepare(shared)
    return shared.study_audit


def _leave(study: str) -> None:
    """Positions that the URL holds mean nothing in another study."""
    before, st.session_state["study shown"] = st.session_state.get("study shown"), study
    if before not in (None, study):
        for key in ("image", "range"):
            st.query_params.pop(key, None)


def _choose_split(store: Store) -> str:
    """A split of its own; those of the study's conditions are the test set again, and page 4 shows them."""
    under_conditions = {condition.split for condition in store.study.conditions}
    splits = [split for split in store.splits if split not in under_conditions]
    if not splits:
        raise InputError(f"directory: {store.directory} holds no predictions yet; `tfaudit run` makes them")
    if len(splits) == 1:
        return splits[0]
    first = splits.index("test") if "test" in splits else 0
    return st.selectbox("Split", splits, index=first, key="split", bind="query-params")


class _Shared:
    """StudyAudit of all who look at one state of a study; one of them makes it ready while the others wait."""

    def __init__(self, study_audit: StudyAudit) -> None:
        self.study_audit = study_audit
        self.ready = False
        self.lock = threading.Lock()


@st.cache_resource(max_entries=4, show_spinner=False)
def _shared(directory: str, split: str, fingerprint: str) -> _Shared:
    return _Shared(StudyAudit.read(open_store(directory), split))


def _prepare(shared: _Shared) -> None:
    bar = st.progress(0.0, "Auditing the study; what is found is kept beside it")

    def progress(share: float, words: str) -> None:
        bar.progress(min(share, 1.0), prose(words))

    with shared.lock:
        if not shared.ready:
            shared.study_audit.prepare(progress)
        shared.ready = True
    bar.empty()
