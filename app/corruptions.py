"""The cost of compression under corruption, [F] figures 4 and 7: all variants, one of them, and one image."""

import functools
import shlex

import streamlit as st

from tfaudit.analysis.audits import AUDITS
from tfaudit.analysis.joint_audits import JOINT_AUDITS
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.audit_page import show_joint, show_question, show_variant
from tfaudit.app.controls import draw_tabs
from tfaudit.app.corrupted_image import show_corrupted_image
from tfaudit.app.drill_down import show_corruption
from tfaudit.app.markdown import escape_name
from tfaudit.audits.robustness.declaration import ROBUSTNESS

ADDED = """\
import dataclasses, tfaudit

study = dataclasses.replace(
    tfaudit.open_store({directory!r}).study,
    corruptions=("fog", "gaussian_noise", "contrast", "jpeg_compression"),
)
"""
"""A file that adds corruptions to a study, whatever recipe made it."""


def page(study_audit: StudyAudit) -> None:
    """Draw the page."""
    data = study_audit.data
    if not (data.conditions and data.corrupted_keys):
        _say_how_to_evaluate(study_audit)
        return
    show_question(ROBUSTNESS)
    views = {
        "Corruptions": _all_variants,
        "Classes": _one_variant,
        "One image": show_corrupted_image,
    }
    draw_tabs(views, "corruptions", study_audit)


def _all_variants(study_audit: StudyAudit) -> None:
    click = functools.partial(show_corruption, study_audit)
    show_joint(study_audit, JOINT_AUDITS["robustness"], (click, ("corruption",)))


def _one_variant(study_audit: StudyAudit) -> None:
    click = functools.partial(show_corruption, study_audit)
    show_variant(study_audit, AUDITS["robustness"], (click, ("corruption",)))


def _say_how_to_evaluate(study_audit: StudyAudit) -> None:
    """Draw what adds corruptions to this study."""
    store = study_audit.data.store
    none = "No variant was evaluated under corruption."
    if store.study.training is None:
        st.info(f"{none} The study holds predictions on clean images only.")
        return
    name = store.study.name
    file = f"{name}_corrupted.py"
    st.info(
        f"{none} Save these lines as `{file}`; the command below them then evaluates the trained models of "
        f"{escape_name(name)} and trains none."
    )
    st.code(ADDED.format(directory=str(store.directory)), language="python")
    st.code(shlex.join(["tfaudit", "run", file, "--out", str(store.directory)]), language=None)
