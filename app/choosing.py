"""Choices that several pages offer; the URL holds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from tfaudit.app.text import labels, plain

if TYPE_CHECKING:
    from tfaudit.report.material import Material

__all__ = ["choose_among", "choose_class", "choose_variant", "choose_variants", "clicked", "has_variants"]

T = TypeVar("T")

BUTTONS = 12
"""Up to so many variants each one has a button; more are a list."""

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


def choose_variant(material: Material, *, baseline: bool = False) -> str:
    """Which variant the page is about; the URL calls it `variant`.

    Args:
        material: of the study.
        baseline: whether the baseline can be chosen, too.
    """
    keys = [key for key in material.titles if baseline or key != material.audit.baseline]
    named = dict(zip(keys, labels([material.titles[key] for key in keys]), strict=True))
    if len(keys) > BUTTONS:
        return st.selectbox("Variant", keys, format_func=named.__getitem__, key="variant", bind="query-params")
    return st.segmented_control(
        "Variant",
        keys,
        default=keys[0],
        required=True,
        format_func=lambda key: plain(named[key]),
        key="variant",
        bind="query-params",
    )


def choose_class(names: Sequence[str]) -> int | None:
    """Which class the page is about, found by typing; the URL calls it `class`. None until one is chosen."""
    return st.selectbox(
        "Class",
        range(len(names)),
        index=None,
        format_func=labels(names).__getitem__,
        placeholder="Type to search",
        key="class",
        bind="query-params",
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


def has_variants(material: Material) -> bool:
    """Whether anything can be compared with the baseline; where not, the page says so.

    Args:
        material: of the study.
    """
    if not material.compressed_keys:
        st.info("The study holds no compressed variant to compare with; `tfaudit run` goes on where it stopped.")
    return bool(material.compressed_keys)


def clicked(key: str, name: str) -> Any:
    """What a reader has just selected in a chart or table, or unselected; None where nothing happened there.

    A selection stays while the page runs again for other reasons; only a new one is a click.

    Args:
        key: of the chart or table.
        name: of the chart's parameter, or "rows".
    """
    now = st.session_state.get(key, {}).get("selection", {}).get(name)
    before, st.session_state[f"{key} before"] = st.session_state.get(f"{key} before"), now
    return None if now == before or (before is None and not now) else now
