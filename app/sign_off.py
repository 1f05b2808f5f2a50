"""The form in which a person accepts or rejects a variant."""

import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.markdown import escape
from tfaudit.errors import InputError
from tfaudit.store.sign_offs import DECISIONS, NOTE_LENGTH


def show_sign_off(study_audit: StudyAudit, key: str) -> None:
    """Draw the last decision on a variant and, unless the viewer is read-only, the form for a new one."""
    title = study_audit.data.titles[key]
    signed = study_audit.sign_offs.get(key)
    if signed:
        st.markdown(f"**{escape('Sign-off')}:** {escape(f'{title} {signed}')}")
    if study_audit.data.store.read_only:
        return
    with (
        st.expander("Accept or reject this variant"),
        st.form(f"sign off {key}"),
    ):
        decision = st.radio("Decision", DECISIONS, index=None, horizontal=True)
        by = st.text_input("Name", max_chars=60)
        note = st.text_input("Note", max_chars=NOTE_LENGTH)
        if st.form_submit_button("Sign"):
            try:
                study_audit.sign_off(key, decision or "", by=by, note=note)
            except InputError as error:
                st.error(escape(str(error)))
            else:
                st.rerun()
