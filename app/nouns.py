"""The word for the examples of a study: images, or examples if they are texts or rows of a table."""

import re

import streamlit as st

_IMAGE = re.compile(r"\b(I|i)mage(?=s?\b)")


def set_noun(noun: str) -> None:
    """Set the word for what the study of this session holds, "images" or "examples"."""
    st.session_state["examples are"] = noun


def with_noun(text: str) -> str:
    """Return a sentence about images with the word for what the study holds.

    Example:
        >>> with_noun("An image changes.")
        'An image changes.'
    """
    if st.session_state.get("examples are", "images") == "images":
        return text
    return _IMAGE.sub(lambda found: "Example" if found[1] == "I" else "example", text)
