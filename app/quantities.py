"""Quantities of images by which the gallery filters, such as their tilt or the confidence of the models in them."""

import math
import re

import numpy as np
import pandas as pd
import streamlit as st

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE

_RANGE = re.compile(r"(?P<name>.+): (?P<low>[-+.\de]+) to (?P<high>[-+.\de]+)")
DIGITS = 3  # of the width of a range


def quantity_of_property(study_audit: StudyAudit, name: str) -> str:
    """Return the quantity by which points of a property are drawn: a value per image, or a mean per individual."""
    individuals = study_audit.data.individuals
    return name if individuals is None else f"mean {name} by {individuals.name}"


def range_text(quantity: str, low: float, high: float) -> str:
    """Return a range of a quantity as the URL and the gallery say it; both ends are in it.

    Example:
        >>> range_text("tilt", 0.123456, 0.2)
        'tilt: 0.12345 to 0.2'
    """
    scale = 10 ** (DIGITS - math.floor(math.log10(high - low)) if high > low else 2 * DIGITS)
    return f"{quantity}: {math.floor(low * scale) / scale:.10g} to {math.ceil(high * scale) / scale:.10g}"


def image_range(study_audit: StudyAudit, variant: str, text: str) -> pd.Series | None:
    """Return which images lie in a range, as `range_text` writes it; None if the study has no such quantity."""
    match = _RANGE.fullmatch(text)
    values = _quantity(study_audit, variant, match["name"]) if match else None
    if match is None or values is None:
        return None
    try:
        return values.between(float(match["low"]), float(match["high"]))
    except ValueError:  # no numbers
        return None


def _quantity(study_audit: StudyAudit, variant: str, name: str) -> pd.Series | None:
    """Return the quantity of this name for every image; None if the study has no such quantity."""
    data = study_audit.data
    for when, key in (("before", BASELINE), ("after", variant)):
        if name == f"confidence {when}, %" and data.has_probabilities(key):
            return _confidence(data.fingerprint, key, study_audit)
    for values in data.image_properties:
        if name == quantity_of_property(study_audit, str(values.name)):
            return _of_units(study_audit, values)
    return None


def _of_units(study_audit: StudyAudit, values: pd.Series) -> pd.Series:
    individuals = study_audit.data.individuals
    values = values.reset_index(drop=True)
    return (
        values if individuals is None else values.groupby(individuals.to_numpy()).transform("mean")
    )


@st.cache_data(max_entries=8, show_spinner=False)
def _confidence(fingerprint: str, key: str, _study_audit: StudyAudit) -> pd.Series:
    """Return the probability of the predicted class in percent, a mean over the members."""
    probabilities = _study_audit.data.populations[key].probabilities
    assert probabilities is not None
    return pd.Series(100 * np.asarray(probabilities[..., 0], float).mean(0))
