"""One image through the severities of a corruption, with the predictions of the baseline and of a variant."""

from importlib.resources import files

import numpy as np
import streamlit as st

from tfaudit.analysis.corruption_strip import corruption_strip
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.app.controls import choose_class, choose_variant
from tfaudit.app.display import page_colours
from tfaudit.app.exemplar_cards import short_id
from tfaudit.app.markdown import escape, escape_name
from tfaudit.app.url_state import choose, choose_from, number_reader, url_choice
from tfaudit.audits.prediction_counts.prediction_counts import PredictionCounts, count_predictions
from tfaudit.datasets.corruptions.registry import corruption_title
from tfaudit.outlets.templates import PAGES
from tfaudit.study.conditions import Condition

OFFERED = 500  # images in the list, those that are lost most first

STYLE = """
.strip { --ground: transparent; --soft: color-mix(in srgb, currentColor 70%, transparent); }
.strip { --line: color-mix(in srgb, currentColor 15%, transparent); border-collapse: collapse; }
.strip th { text-align: left; font-weight: 600; }
.strip th:first-child { backdrop-filter: blur(1rem); }
.strip .right { color: var(--gain); } .strip .wrong { color: var(--loss); }
.strip img { width: 8rem; height: 8rem; }
.wide { overflow-x: auto; }
"""


def show_corrupted_image(study_audit: StudyAudit) -> None:
    """Draw the controls and the image."""
    key = choose_variant(study_audit)
    data = study_audit.data
    title = data.titles[key]
    if key not in data.corrupted_keys:
        st.info(f"{escape_name(title)} was not evaluated under corruption.")
        return
    lost = study_audit.robustness(key).lost_first
    computed = dict.fromkeys(c.corruption for c in data.conditions if c.is_computed)
    names = [name for name in computed if name in lost]
    if not names:
        st.info(
            "The study was evaluated on other sets of images only, not on its own images under corruption."
        )
        return
    left, middle, right = st.columns(3)
    most = max(names, key=lambda name: lost[name].sum())
    corruption = choose_from(
        left.selectbox,
        "Corruption",
        names,
        "corruption",
        most,
        format_func=corruption_title,
        resets=("picture",),
    )
    counts = lost[corruption]
    examples = data.store.examples(data.split, images=False, groups=False)
    ids = examples["example"].to_numpy()
    labels = examples["label"].to_numpy()
    classes = examples.attrs["class_names"]
    with middle:
        label = choose_class(classes)
    of_class = np.flatnonzero(labels == label)
    positions = of_class if len(of_class) else np.arange(len(ids))
    order = positions[np.argsort(-counts[positions], kind="stable")][:OFFERED].tolist()
    read = number_reader("picture", 0, len(ids) - 1, int)
    linked = url_choice("picture", order[0], read)
    texts = {i: f"{short_id(str(ids[i]))}, {classes[labels[i]]}" for i in {*order, linked}}
    text = f"{len(order):,} images, first those that {escape(title)} loses at the most severities."
    position = choose(
        right.selectbox,
        "Image",
        "picture",
        order[0],
        read,
        options=order if linked in order else [linked, *order],
        format_func=texts.__getitem__,
        help=text,
    )

    def counted(key: str, condition: Condition | None) -> PredictionCounts:
        if condition is None:
            return study_audit.counts(key)
        return _counts(study_audit, data.fingerprint, key, condition)

    strip = corruption_strip(data, position, (corruption,), (BASELINE, key), counted)
    macro = PAGES.get_template("corruption_strip.html.j2").module.strip_table  # type: ignore[attr-defined]
    style = (files("tfaudit.outlets") / "corruption_strip.css").read_text() + STYLE
    before, after = (
        study_audit.counts(name).mode()[position] == labels[position] for name in (BASELINE, key)
    )
    loss = _loss(before, after, int(counts[position]))
    caption = f"Class {classes[labels[position]]}, {loss}. Majority predictions stand below the images. {strip.caption}"
    st.caption(escape(caption))
    st.html(f"<style>{style}.strip {{ {page_colours()} }}</style>{macro(strip)}")


def _loss(before: bool, after: bool, severities: int) -> str:
    """Return how a variant loses an image, from which side is right on the clean one and the number of severities lost.

    Example:
        >>> _loss(True, True, 1), _loss(True, False, 0)
        ('lost at 1 severity', 'lost when clean')
    """
    if not before or not after:
        return "lost when clean" if before else "wrong before compression when clean"
    return f"lost at {severities or 'no'} {'severities' if severities > 1 else 'severity'}"


@st.cache_resource(max_entries=100, show_spinner="Reading predictions")
def _counts(
    _study_audit: StudyAudit, fingerprint: str, key: str, condition: Condition
) -> PredictionCounts:
    return count_predictions(_study_audit.data.under_condition(key, condition))
