"""Choice of study and split in the side bar; each study is audited once for all visitors."""

import contextlib
import threading
from pathlib import Path

import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import StudyData
from tfaudit.app.markdown import escape, unique_labels
from tfaudit.app.url_state import (
    choose,
    choose_from,
    drop_study_choices,
    option_reader,
    single_choice,
    url_choice,
)
from tfaudit.errors import InputError
from tfaudit.store.files import path_outside
from tfaudit.store.store import Store, find_studies, open_store


class SharedAudit:
    """The audit of one state of a study, shared by all visitors; one of them prepares it while the others wait."""

    def __init__(self, study_audit: StudyAudit) -> None:
        self.study_audit = study_audit
        self._ready = False
        self._lock = threading.Lock()

    def prepared(self) -> StudyAudit:
        """Return the audit once all of it is computed; a bar shows the progress."""
        if self._ready:
            return self.study_audit
        bar = st.progress(0.0, "Auditing the study; the results are cached in its directory")

        def progress(share: float, message: str) -> None:
            bar.progress(min(share, 1.0), escape(message))

        with self._lock:
            if not self._ready:
                self.study_audit.prepare(progress)
            self._ready = True
        bar.empty()
        return self.study_audit


def open_study(directory: Path, *, read_only: bool = False) -> SharedAudit:
    """Return the study that the visitor chose in the side bar; read-only, no file is written, not even a cached audit.

    Members may be added meanwhile: the visitor sees the study as it was read until they ask to read it again.

    Raises:
        InputError: no study, no predictions, a damaged study, or one with links out of the directory.
    """
    studies = find_studies(directory)
    st.session_state["studies"] = studies
    labels = dict(zip(studies, unique_labels(list(studies)), strict=True))
    with st.sidebar:
        first = next(iter(studies))
        read = option_reader("study", {name: name for name in studies})
        if len(studies) > 1:
            name = choose(
                st.selectbox,
                "Study",
                "study",
                first,
                read,
                then=drop_study_choices,
                options=list(studies),
                format_func=labels.__getitem__,
            )
        else:
            name = url_choice("study", first, read)
        if link := path_outside(studies[name], directory):
            raise InputError(
                "directory", f"{link}, which is a link out of {directory}", "files within it alone"
            )
        store = open_store(studies[name])
        split = _choose_split(store)
        current = StudyAudit.read(store, split)
        state = f"opened {name} {split}"
        opened = st.session_state.setdefault(state, current.data.fingerprint)
        st.caption(escape(f"{store.study.subject}, {split} split"))
        if current.data.fingerprint != opened:
            st.info("The study has changed since it was read.")
            st.button(
                "Read it again",
                icon=":material/refresh:",
                on_click=st.session_state.__setitem__,
                args=(state, current.data.fingerprint),
            )
    return _shared(str(studies[name].resolve()), split, opened, read_only)


def other_studies(study_audit: StudyAudit) -> dict[str, StudyAudit]:
    """Return the other studies of the viewer's directory with models of the same examples, by name."""
    data = study_audit.data
    others = {}
    for name, directory in st.session_state.get("studies", {}).items():
        if directory.resolve() == data.store.directory.resolve():
            continue
        # A study without predictions of this split, or a damaged one, is left out.
        with contextlib.suppress(InputError):
            other = _other(str(directory.resolve()), data.split)
            if other is not None and _holds_same_examples(
                data.fingerprints.examples, other.data.fingerprints.examples, data, other.data
            ):
                others[name] = other
    return others


@st.cache_resource(max_entries=64, ttl=60, show_spinner=False)
def _other(directory: str, split: str) -> StudyAudit | None:
    """Return a study to compare with, which is read again after a minute; None if it cannot be read."""
    with contextlib.suppress(InputError):
        return StudyAudit.read(open_store(directory, read_only=True), split)
    return None


@st.cache_data(max_entries=64, show_spinner=False)
def _holds_same_examples(first: str, second: str, _first: StudyData, _second: StudyData) -> bool:
    tables = [
        data.store.examples(data.split, images=False, groups=False)[["example", "label"]]
        for data in (_first, _second)
    ]
    return tables[0].reset_index(drop=True).equals(tables[1].reset_index(drop=True))


def _choose_split(store: Store) -> str:
    """Return the chosen split. Splits of conditions are the test set corrupted: the page Corruptions shows them."""
    conditions = {condition.split for condition in store.study.conditions}
    splits = [split for split in store.splits if split not in conditions]
    if not splits:
        got = f"{store.directory}, which has no predictions yet"
        raise InputError("directory", got, "a study with predictions; `tfaudit run` makes them")
    first = "test" if "test" in splits else splits[0]
    if len(splits) == 1:
        return single_choice("split", first)
    return choose_from(
        st.selectbox, "Split", splits, "split", first, resets=("image", "range", "picture")
    )


@st.cache_resource(max_entries=4, show_spinner=False)
def _shared(directory: str, split: str, fingerprint: str, read_only: bool) -> SharedAudit:
    return SharedAudit(StudyAudit.read(open_store(directory, read_only=read_only), split))
