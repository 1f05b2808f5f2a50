"""Declares `tfaudit compress`, the search for the smallest file that passes a gate, and its candidates in a report."""

from tfaudit.extensions import Extension

EXTENSION = Extension(
    name="search",
    names={"compress_to_limits": "tfaudit.extensions.search.search:compress_to_limits"},
    joint_audits={"candidates": "tfaudit.extensions.search.section:CANDIDATES"},
    commands={"compress": "tfaudit.extensions.search.command:compress"},
)
