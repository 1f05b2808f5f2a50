"""Declares `shrink`, which removes channels that contribute nothing."""

from tfaudit.extensions import Extension

_PLACE = "tfaudit.extensions.shrinking.shrink"

EXTENSION = Extension(
    name="shrinking",
    names={
        "shrink": f"{_PLACE}:shrink",
        "compress.shrink": f"{_PLACE}:shrink",
        "compress.Shrunk": f"{_PLACE}:Shrunk",
    },
)
