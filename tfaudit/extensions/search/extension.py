"""Declares `tfaudit compress`, the search for the smallest file that passes a gate."""

from tfaudit.extensions import Extension

EXTENSION = Extension(
    name="search",
    names={"compress_to_limits": "tfaudit.extensions.search.search:compress_to_limits"},
    commands={"compress": "tfaudit.extensions.search.command:compress"},
)
