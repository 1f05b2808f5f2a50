"""Remedies against their controls, for all variants at once."""

import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.audit_page import show_question, show_result
from tfaudit.app.viewer_page import ViewerPage
from tfaudit.extensions.remedies.declaration import REMEDIES
from tfaudit.extensions.remedies.study_remedies import remedied, study_remedies

PAGE = ViewerPage(__name__, REMEDIES.title, (), "more", asks=REMEDIES.question, needs=remedied)


def page(study_audit: StudyAudit) -> None:
    """Draw the page."""
    show_question(REMEDIES)
    result = study_remedies(study_audit.data)
    if result is None:
        st.info(
            "No variant has a remedy and a control, such as "
            '`Pruned(0.9, treatment="finetune", remedy="distillation")` beside the same without `remedy`.'
        )
        return
    show_result(study_audit, REMEDIES, result, REMEDIES.name)
