"""Compared outcomes in a folder: what `audit --outcome --out` and `compare --outcome --out` write for `view`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from tfaudit.errors import InputError
from tfaudit.runtime.regular_files import read_regular
from tfaudit.store.requested_files import write_requested

FILE = "outcomes.json"


@dataclasses.dataclass(frozen=True)
class ModelOutcomes:
    """What compression changes in the outcomes of one model, as readers see it.

    Attributes:
        verdict: outcome of the gate, such as "pass"; empty if nothing was judged.
        checks: a sentence for each limit.
        findings: sentences on what changes.
        notes: caveats, one sentence each.
        groups: `OutcomeChanges.frame`.
        examples: `OutcomeChanges.changed`.
    """

    verdict: str
    checks: tuple[str, ...]
    findings: tuple[str, ...]
    notes: tuple[str, ...]
    groups: pd.DataFrame
    examples: pd.DataFrame


@dataclasses.dataclass(frozen=True)
class OutcomeFolder:
    """Compared outcomes: the name of the outcome, the level of the tests, and each compressed model by name."""

    outcome: str
    alpha: float
    models: Mapping[str, ModelOutcomes]


def is_outcome_folder(directory: Path) -> bool:
    """Return whether a directory holds compared outcomes."""
    return (directory / FILE).is_file()


def write_outcome_folder(directory: Path, folder: OutcomeFolder) -> None:
    """Write compared outcomes as one file of the directory.

    Raises:
        InputError: a place that cannot be written.
    """
    models = {
        name: {
            **vars(one),
            "groups": _plain(one.groups),
            "examples": _plain(one.examples),
        }
        for name, one in folder.models.items()
    }
    content = json.dumps({**vars(folder), "models": models})
    write_requested("out", directory / FILE, content.encode())


def read_outcome_folder(directory: Path) -> OutcomeFolder:
    """Read compared outcomes.

    Raises:
        InputError: the file is missing or damaged.
    """
    try:
        content = json.loads(read_regular(directory / FILE))
        models = {
            name: ModelOutcomes(
                verdict=str(one["verdict"]),
                checks=tuple(map(str, one["checks"])),
                findings=tuple(map(str, one["findings"])),
                notes=tuple(map(str, one["notes"])),
                groups=pd.DataFrame(**one["groups"]),
                examples=pd.DataFrame(**one["examples"]),
            )
            for name, one in content["models"].items()
        }
        return OutcomeFolder(str(content["outcome"]), float(content["alpha"]), models)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as problem:
        got = f"{directory}, whose {FILE} is damaged ({type(problem).__name__})"
        expected = "the folder that `tfaudit audit --outcome --out` wrote"
        raise InputError("directory", got, expected) from None


def _plain(frame: pd.DataFrame) -> dict[str, Any]:
    """Return a table as plain values, None instead of NaN."""
    content: dict[str, Any] = json.loads(frame.to_json(orient="split", double_precision=15))
    return {"columns": content["columns"], "data": content["data"]}
