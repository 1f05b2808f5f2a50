"""Where results go: the files that `tfaudit gate` writes, and the formats of `tfaudit export`.

A new outlet is a function in this package and a row here, or an `exports` of an extension.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from tfaudit.extensions import Registry, load


@dataclasses.dataclass(frozen=True)
class Outlet:
    """A form in which results are handed on.

    Attributes:
        help: help text of its command-line option.
        place: "module:name" of the function that returns the content; imported on use.
        takes: what the function is called with: "verdicts" by variant; "study", a `StudyAudit` and keys of variants;
            "model", a Keras model, labelled examples and representative ones; or "page", nothing, and it returns a
            function that takes the path of a report.
    """

    help: str
    place: str
    takes: str = "study"

    def content(self, *results: Any) -> Any:
        """Return the content of the file, or the contents of several by path."""
        content = load(self.place)(*results)
        return content.encode() if isinstance(content, str) else content


GATE_FILES: Mapping[str, Outlet] = Registry(
    "gate_files",
    {
        "junit": Outlet(
            "JUnit XML: one test case per check.", "tfaudit.outlets.gate_files:junit_verdicts"
        ),
        "json": Outlet("The whole verdict as JSON.", "tfaudit.outlets.gate_files:json_verdicts"),
        "sarif": Outlet(
            "SARIF: what did not pass, for code scanning.",
            "tfaudit.outlets.gate_files:sarif_verdicts",
        ),
        "markdown": Outlet("The verdict as Markdown.", "tfaudit.outlets.markdown:gate_markdown"),
    },
)
"""Outlets of verdicts by variant, by option of `tfaudit gate`."""

EXPORTS: Mapping[str, Outlet] = Registry("exports", {})
"""Outlets of studies, models and reports, by name."""
