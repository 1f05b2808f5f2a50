"""Limits of the gate that the visitor chose: in the URL, with the names of the options of `tfaudit gate`."""

import math
from collections.abc import Callable

import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.app.markdown import escape
from tfaudit.app.url_state import choose, number_reader, url_choice
from tfaudit.audits.gate.limits import (
    DEFAULT_LIMITS,
    FLAGS,
    OF_ERRORS,
    OF_TWO_CLASSES,
    QUANTITIES,
    Limits,
)


def chosen_limits(study_audit: StudyAudit) -> Limits:
    """Return the limits that apply: those of the URL, otherwise those that the viewer was started with."""
    defaults = _defaults(study_audit)
    chosen = {
        name: url_choice(FLAGS[name], getattr(defaults, name), _reader(name))
        for name in _offered(study_audit)
    }
    if all(value is None for value in chosen.values()):
        return defaults
    least, positive = defaults.min_baseline_accuracy, defaults.positive
    return Limits(**chosen, min_baseline_accuracy=least, positive=positive)


def choose_limits(study_audit: StudyAudit) -> Limits:
    """Draw a field per limit, and return the limits that apply."""
    defaults = _defaults(study_audit)
    offered = _offered(study_audit)
    with st.popover("Limits", icon=":material/tune:", type="tertiary", key="limits of the gate"):
        values = [
            _choose_limit(name, getattr(defaults, name))
            for name in sorted(offered, key=lambda name: getattr(defaults, name) is None)
        ]
        if all(value is None for value in values):
            st.caption("Without any limit, the default limits apply.")
    return chosen_limits(study_audit)


def say_limits(limits: Limits) -> None:
    """Draw the limits as a sentence."""
    words = limits.in_words()
    st.caption(escape(f"{words[0].upper()}{words[1:]}."), width="content")


def _defaults(study_audit: StudyAudit) -> Limits:
    classes = len(study_audit.counts(BASELINE).class_names)
    limits: Limits = st.session_state.get("limits", DEFAULT_LIMITS)
    return study_audit.data.store.judging.applied(limits).for_classes(classes)


def _offered(study_audit: StudyAudit) -> list[str]:
    two_classes = len(study_audit.counts(BASELINE).class_names) == 2
    return [
        name
        for name in QUANTITIES
        if (name != "corruption_drop_pp" or study_audit.data.corrupted_keys)
        and (name != "group_drop_pp" or study_audit.data.group_columns)
        and (name != "slice_drop_pp" or study_audit.data.has_features)
        and (name not in OF_TWO_CLASSES or two_classes)
        and name not in OF_ERRORS[1]  # a study has classes
    ]


def _reader(name: str) -> Callable[[str], float | None]:
    """Return a function that reads a limit of the URL; an empty one is not checked."""
    quantity = QUANTITIES[name]
    within = number_reader(FLAGS[name], quantity.minimum, quantity.maximum, float)
    return lambda text: within(text) if text else None


def _choose_limit(name: str, default: float | None) -> float | None:
    """Draw the field of one limit and return its value; None if it is empty."""
    quantity = QUANTITIES[name]
    return choose(
        st.number_input,
        quantity.title[0].upper() + quantity.title[1:] + ", points" * name.endswith("_pp"),
        FLAGS[name],
        default,
        _reader(name),
        write=lambda limit: "" if limit is None else f"{limit:.6g}",
        min_value=quantity.minimum,
        max_value=quantity.maximum if math.isfinite(quantity.maximum) else None,
        clearable=True,
        value=None,
        format="%.6g",
        placeholder="not checked",
        help=quantity.description,
        persist_state="page",  # a closed field would come back with its default, which is empty
    )
