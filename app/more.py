"""Further questions about a study, each with the page that answers it."""

import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.display import link_to
from tfaudit.app.markdown import escape
from tfaudit.app.menu import PAGES, below


def page(study_audit: StudyAudit) -> None:
    """Draw the page."""
    for path in below("more", study_audit.data):
        further = PAGES[path]
        with st.container(border=True, gap="xsmall"):
            link_to(path, f"**{further.question}**", ":material/arrow_forward:")
            st.caption(escape(". ".join(filter(None, [further.title, further.definition]))))
