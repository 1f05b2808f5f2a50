"""The members of a study in its directory: what is recorded of each, and whether it counts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tfaudit.errors import InputError
from tfaudit.store.files import write_whole
from tfaudit.study.study import Study

__all__ = ["MEND", "MemberRecords"]

MEND = "`tfaudit run` with the same recipe and directory makes it again"
"""Ends a message about a file that is missing or damaged."""


class MemberRecords:
    """The members of one study, by the key of the variant and the number.

    Attributes:
        directory: of the study.
        study: as it is run.
    """

    def __init__(self, directory: Path, study: Study) -> None:
        self.directory = directory
        self.study = study

    @staticmethod
    def member_path(variant: str, member: int, file: str) -> str:
        """Path of one of a member's files, relative to the study's directory."""
        return f"members/{variant}/{member:03d}/{file}"

    def members(self, variant: str) -> tuple[int, ...]:
        """Numbers of the members that are complete; `verify` also reads their files."""
        found = (path.parent for path in (self.directory / "members" / variant).glob("*/member.json"))
        numbers = sorted(int(path.name) for path in found if path.name.isdecimal())
        return tuple(
            n for n in numbers if n < self.study.population and self.record(variant, n).get("status") == "complete"
        )

    def record(self, variant: str, member: int) -> dict[str, Any]:
        """What `member.json` says; empty where it is missing or damaged."""
        try:
            record = json.loads((self.directory / self.member_path(variant, member, "member.json")).read_text())
        except (OSError, ValueError):
            return {}
        return record if _is_whole(record) else {}

    def is_complete(self, variant: str, member: int) -> bool:
        """Does the member count: recorded as complete, its predictions as they were written, its other files there?"""
        record = self.record(variant, member)
        if record.get("status") != "complete":
            return False
        try:
            for path, facts in record["files"].items():
                if path.startswith("predictions/"):
                    self.read_checked(variant, member, path)
                elif (self.directory / path).stat().st_size != facts["bytes"]:
                    return False
        except (OSError, KeyError, TypeError, ValueError):  # InputError is a ValueError
            return False
        return True

    def read_checked(self, variant: str, member: int, path: str) -> bytes:
        """Contents of one of a member's files.

        Raises:
            InputError: the file is missing, or not what was written.
        """
        content = self.read(path)
        if hashlib.sha256(content).hexdigest() != self.record(variant, member)["files"].get(path, {}).get("sha256"):
            raise InputError(f"{path.split('/')[0]}: {self.directory / path} does not match its checksum; {MEND}")
        return content

    def failures(self) -> dict[tuple[str, int], str]:
        """Tracebacks of the members that failed, by variant and number."""
        pairs = [(v.key, member) for v in self.study.all_variants for member in range(self.study.population)]
        records = {pair: self.record(*pair) for pair in pairs}
        return {pair: record["traceback"] for pair, record in records.items() if record.get("status") == "failed"}

    def save_member(self, variant: str, member: int, files: Mapping[str, bytes], record: Mapping[str, Any]) -> None:
        """Writes a member; it counts from the moment its `member.json` is there.

        Args:
            variant: key.
            member: number.
            files: contents by path relative to the study's directory.
            record: further facts for `member.json`.
        """
        facts = self.member_path(variant, member, "member.json")
        (self.directory / facts).unlink(missing_ok=True)
        for path, content in files.items():
            self.write(path, content)
        sums = {path: {"bytes": len(c), "sha256": hashlib.sha256(c).hexdigest()} for path, c in files.items()}
        record = {"status": "complete", "variant": variant, "member": member, **record, "files": sums}
        self.write(facts, json.dumps(record, indent=2).encode())

    def save_failure(self, variant: str, member: int, traceback: str) -> None:
        """Records that a member failed, with its traceback; a later run tries it again."""
        record = {"status": "failed", "variant": variant, "member": member, "traceback": traceback}
        self.write(self.member_path(variant, member, "member.json"), json.dumps(record, indent=2).encode())

    def origin(self, variant: str, member: int) -> dict[str, Any]:
        """Which model a member is now: the SHA-256 of its file, and its seed; None where there is none."""
        record = self.record(variant, member)
        sums = {path.rpartition("/")[2]: facts.get("sha256") for path, facts in record.get("files", {}).items()}
        return {"model": sums.get("model.keras", sums.get("model.tflite")), "seed": record.get("seed")}

    def prediction_path(self, variant: str, member: int, split: str = "test") -> str:
        """Path of a member's predictions, relative to the study's directory."""
        return f"predictions/split={split}/variant={variant}/{member:03d}.parquet"

    def write(self, path: str, content: bytes) -> None:
        """Writes a file, whole or not at all; the path is relative to the study's directory.

        Raises:
            OSError: the file cannot be written (no space, no permission); nothing half-written stays.
        """
        write_whole(self.directory / path, content)

    def read(self, path: str) -> bytes:
        """Contents of a file.

        Raises:
            InputError: it cannot be read.
        """
        try:
            return (self.directory / path).read_bytes()
        except OSError as problem:
            raise InputError(
                f"{path.split('/')[0]}: {self.directory / path} cannot be read ({problem.strerror}); {MEND}"
            ) from None


def _is_whole(record: object) -> bool:
    """Does a record say what one of its status must: of which files it is, or why the member failed?"""
    if not isinstance(record, dict):
        return False
    if record.get("status") == "failed":
        return isinstance(record.get("traceback"), str)
    files = record.get("files")
    return isinstance(files, dict) and all(isinstance(facts, dict) for facts in files.values())
