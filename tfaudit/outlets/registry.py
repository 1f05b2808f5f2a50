"""The files that `tfaudit gate` writes. A new format is a function in this package and a row here."""

import dataclasses
import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfaudit.audits.gate.gate import Verdict


@dataclasses.dataclass(frozen=True)
class GateFile:
    """A file with the verdicts of a gate.

    Attributes:
        help: help text of its command-line option.
        place: module of this package and its function that returns the content; imported on use.
    """

    help: str
    place: str

    def content(self, verdicts: Mapping[str, "Verdict"]) -> bytes:
        """Return the content of the file, given the verdicts by variant."""
        module, _, name = self.place.partition(":")
        function: Callable[[Mapping[str, Verdict]], str | bytes]
        function = getattr(importlib.import_module(f"tfaudit.outlets.{module}"), name)
        content = function(verdicts)
        return content.encode() if isinstance(content, str) else content


GATE_FILES: Mapping[str, GateFile] = {
    "junit": GateFile("JUnit XML: one test case per check.", "gate_files:junit_verdicts"),
    "json": GateFile("The whole verdict as JSON.", "gate_files:json_verdicts"),
    "sarif": GateFile("SARIF: what did not pass, for code scanning.", "gate_files:sarif_verdicts"),
    "markdown": GateFile("The verdict as Markdown.", "markdown:gate_markdown"),
}
"""Outlets by option of `tfaudit gate`."""
