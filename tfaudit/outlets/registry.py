"""Where results go: the files that `tfaudit gate` writes, and the formats of `tfaudit export`.

A new outlet is a function in this package and a row here.
"""

import dataclasses
import importlib
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Outlet:
    """A form in which results are handed on.

    Attributes:
        help: help text of its command-line option.
        place: module of this package and its function that returns the content; imported on use.
    """

    help: str
    place: str

    def content(self, *results: Any) -> Any:
        """Return the content of the file, or the contents of several by path."""
        module, _, name = self.place.partition(":")
        content = getattr(importlib.import_module(f"tfaudit.outlets.{module}"), name)(*results)
        return content.encode() if isinstance(content, str) else content


GATE_FILES: Mapping[str, Outlet] = {
    "junit": Outlet("JUnit XML: one test case per check.", "gate_files:junit_verdicts"),
    "json": Outlet("The whole verdict as JSON.", "gate_files:json_verdicts"),
    "sarif": Outlet("SARIF: what did not pass, for code scanning.", "gate_files:sarif_verdicts"),
    "markdown": Outlet("The verdict as Markdown.", "markdown:gate_markdown"),
}
"""Outlets of verdicts by variant, by option of `tfaudit gate`."""

EXPORTS: Mapping[str, Outlet] = {
    "csv": Outlet("a table, exemplars.csv, and the images", "exports:csv_files"),
    "parquet": Outlet("the same as exemplars.parquet", "exports:parquet_files"),
    "fiftyone": Outlet("a data set that FiftyOne reads", "exports:fiftyone_files"),
    "survey": Outlet(
        "a blind sheet for people who rate images, and its key", "exports:survey_files"
    ),
}
"""Outlets of a `StudyAudit` and keys of variants, by format of `tfaudit export`."""

MODEL_EXPORTS: Mapping[str, Outlet] = {
    "model-explorer": Outlet(
        "what each layer of a .keras model costs in int8, for Model Explorer",
        "model_explorer:explorer_files",
    ),
}
"""Outlets of a Keras model, labelled examples and representative ones, by format of `tfaudit export`."""

FORMATS: Mapping[str, Outlet] = {**EXPORTS, **MODEL_EXPORTS}
