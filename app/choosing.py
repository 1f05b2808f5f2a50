"""Choices that several pages offer; the URL holds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import streamlit as st

from tfaudit.app.showing import labels

if TYPE_CHECKING:
    from tfaudit.report.material import Material

__all__ = ["choose_among", "choose_variants"]

T = TypeVar("T")

MOST = 10
"""Variants that are shown side by side before anybody chooses: a chart has no more hues."""


def choose_among(label: str, options: Sequence[T], key: str, named: Callable[[T], str] = str) -> T:
    """One of a few options, each a button; the first one until another is chosen.

    Args:
        label: above the buttons.
        options: at least one.
        key: of the choice in the URL.
        named: name of an option; Markdown.
    """
    return st.segmented_control(
        label, options, default=options[0], required=True, format_func=named, key=key, bind="query-params"
    )


def choose_variants(material: Material, keys: Sequence[str]) -> list[str]:
    """Which variants a chart compares, in their order; the URL calls them `variants`.

    Args:
        material: of the study.
        keys: of the variants that can be shown.
    """
    named = dict(zip(keys, labels([material.titles[key] for key in keys]), strict=True))
    chosen = st.multiselect(
        "Variants", keys, default=keys[:MOST], format_func=named.__getitem__, key="variants", bind="query-params"
    )
    return [key for key in keys if key in chosen]
