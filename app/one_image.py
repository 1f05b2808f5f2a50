"""One image through the severities of a corruption, with what baseline and variant answer: where it is lost."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from tfaudit.app.choosing import choose_variant
from tfaudit.app.text import labels, plain, prose
from tfaudit.audit.corruption.robustness import Robustness
from tfaudit.audit.prediction_counts import PredictionCounts, count_predictions
from tfaudit.report.html import PAGES

if TYPE_CHECKING:
    from tfaudit.analysis.study_audit import StudyAudit
    from tfaudit.study.conditions import Condition

__all__ = ["one_image"]

OFFERED = 500
"""Images in the list, those that are lost most first."""

STYLE = """
.strip { --ground: transparent; --soft: color-mix(in srgb, currentColor 70%, transparent); }
.strip { --line: color-mix(in srgb, currentColor 15%, transparent); border-collapse: collapse; }
.strip th { text-align: left; font-weight: 600; }
.strip th:first-child { backdrop-filter: blur(1rem); }
.strip .right { color: #1aa37c; } .strip .wrong { color: #c077b8; }
.strip img { width: 8rem; height: 8rem; }
.wide { overflow-x: auto; }
"""


def one_image(study_audit: StudyAudit, found: Mapping[str, Robustness]) -> None:
    """Draws the choices and the image.

    Args:
        study_audit: of the study.
        found: results by variant.
    """
    key = choose_variant(study_audit)
    if key not in found:
        st.info(f"{plain(study_audit.data.titles[key])} was not evaluated under corruption.")
        return
    lost = found[key].lost_first
    names = [
        name
        for name in dict.fromkeys(c.corruption for c in study_audit.data.conditions if c.is_computed)
        if name in lost
    ]
    if not names:
        st.info("The study was not evaluated on its own images under corruption, only on sets of other images.")
        return
    left, right = st.columns(2)
    most = max(names, key=lambda name: lost[name].sum())
    corruption = left.selectbox("Corruption", names, index=names.index(most), key="corruption", bind="query-params")
    counts = lost[corruption]
    examples = study_audit.data.store.examples(study_audit.data.split, images=False, groups=False)
    ids, classes = examples["example"].to_numpy(), examples.attrs["class_names"]
    truths = examples["label"].to_numpy()

    order = np.argsort(-counts, kind="stable")[:OFFERED].tolist()
    # Text, not positions: an image that another study does not hold is none.
    images = labels([f"{ids[each]}, {classes[truths[each]]}" for each in order])
    chosen = right.selectbox(
        "Image",
        images,
        key="picture",
        bind="query-params",
        help=f"The {len(order):,} that {prose(study_audit.data.titles[key])} loses at most severities come first.",
    )
    position = order[images.index(chosen)]
    shown = study_audit.image_strip(
        position,
        (corruption,),
        (study_audit.summary.baseline, key),
        counts=lambda *at: _answers(study_audit, *at),
    )
    macro = PAGES.get_template("strip.html.j2").module.strip_table  # type: ignore[attr-defined]
    style = (files("tfaudit.report") / "strip.css").read_text() + STYLE
    times = f"lost at {counts[position]} severities" if counts[position] else "lost at none"
    said = f"Of class {classes[truths[position]]}, {times}. Below the pictures stand the modal answers. {shown.caption}"
    st.caption(prose(said))
    st.html(f"<style>{style}</style>{macro(shown)}")


def _answers(study_audit: StudyAudit, key: str, condition: Condition) -> PredictionCounts:
    return _counted(study_audit.data.fingerprint, key, condition, study_audit)


@st.cache_resource(max_entries=100, show_spinner="Reading answers")
def _counted(fingerprint: str, key: str, condition: Condition, _study_audit: StudyAudit) -> PredictionCounts:
    return count_predictions(_study_audit.data.under_condition(key, condition))
