"""One image through the severities of a corruption, with the predictions of the baseline and of a variant."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from tfaudit.analysis.study_data import BASELINE
from tfaudit.app.controls import choose_variant
from tfaudit.app.markdown import escape, escape_name, unique_labels
from tfaudit.audit.corruption.robustness import Robustness
from tfaudit.audit.prediction_counts import PredictionCounts, count_predictions
from tfaudit.report.html import PAGES

if TYPE_CHECKING:
    from tfaudit.analysis.study_audit import StudyAudit
    from tfaudit.study.conditions import Condition

__all__ = ["show_corrupted_image"]

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


def show_corrupted_image(study_audit: StudyAudit, results: Mapping[str, Robustness]) -> None:
    """Draw the controls and the image.

    Args:
        study_audit: of the study.
        results: robustness by variant.
    """
    key = choose_variant(study_audit)
    title = study_audit.data.titles[key]
    if key not in results:
        st.info(f"{escape_name(title)} was not evaluated under corruption.")
        return
    lost = results[key].lost_first
    computed = dict.fromkeys(c.corruption for c in study_audit.data.conditions if c.is_computed)
    names = [name for name in computed if name in lost]
    if not names:
        st.info("The study was evaluated on other sets of images only, not on its own images under corruption.")
        return
    left, right = st.columns(2)
    most = max(names, key=lambda name: lost[name].sum())
    corruption = left.selectbox("Corruption", names, index=names.index(most), key="corruption", bind="query-params")
    counts = lost[corruption]
    examples = study_audit.data.store.examples(study_audit.data.split, images=False, groups=False)
    ids, classes = examples["example"].to_numpy(), examples.attrs["class_names"]
    labels = examples["label"].to_numpy()

    order = np.argsort(-counts, kind="stable")[:OFFERED].tolist()
    # Options are text, not positions: an image that another study does not hold is then no choice.
    images = unique_labels([f"{ids[i]}, {classes[labels[i]]}" for i in order])
    chosen = right.selectbox(
        "Image",
        images,
        key="picture",
        bind="query-params",
        help=f"{len(order):,} images, first those that {escape(title)} loses at the most severities.",
    )
    position = order[images.index(chosen)]
    strip = study_audit.image_strip(
        position,
        (corruption,),
        (BASELINE, key),
        counts=lambda variant, condition: _counts(study_audit.data.fingerprint, variant, condition, study_audit),
    )
    macro = PAGES.get_template("strip.html.j2").module.strip_table  # type: ignore[attr-defined]
    style = (files("tfaudit.report") / "strip.css").read_text() + STYLE
    severities = f"{counts[position]} severities" if counts[position] > 1 else "1 severity"
    loss = f"lost at {severities}" if counts[position] else "lost at no severity"
    st.caption(
        escape(f"Class {classes[labels[position]]}, {loss}. Modal predictions stand below the images. {strip.caption}")
    )
    st.html(f"<style>{style}</style>{macro(strip)}")


@st.cache_resource(max_entries=100, show_spinner="Reading predictions")
def _counts(fingerprint: str, key: str, condition: Condition, _study_audit: StudyAudit) -> PredictionCounts:
    return count_predictions(_study_audit.data.under_condition(key, condition))
