"""Decisions of people on the variants of a study: `DIR/sign_offs.json`, where the last entry of a variant holds."""

import dataclasses
import datetime
import json
from collections.abc import Mapping
from pathlib import Path

import filelock

from tfaudit.errors import InputError, require_one_of
from tfaudit.runtime.regular_files import read_regular
from tfaudit.store.ratings.names import rater_name
from tfaudit.store.requested_files import write_requested

DECISIONS = ("accepted", "rejected", "needs work")
"""What a person may decide about a variant."""

NOTE_LENGTH = 1000
"""Largest number of characters of a note."""


@dataclasses.dataclass(frozen=True)
class SignOff:
    """One decision.

    Attributes:
        variant: key of the variant.
        decision: one of `DECISIONS`.
        by: name of the person.
        note: why; may be empty.
        on: date and time, UTC, in ISO format to the second.
        predictions: digest of the predictions that the person saw.
    """

    variant: str
    decision: str
    by: str
    note: str
    on: str
    predictions: str

    def in_words(self, predictions: str) -> str:
        """Return the decision as a sentence, which says if the predictions have other digests since.

        Example:
            >>> SignOff("int8", "rejected", "Ann", "loses dogs", "2026-11-25T07:30:00", "a").in_words("a")
            'rejected by Ann on 2026-11-25: loses dogs'
        """
        note = f": {self.note}" if self.note else ""
        changed = "" if predictions == self.predictions else " (the predictions changed since)"
        return f"{self.decision} by {self.by} on {self.on[:10]}{changed}{note}"


def read_sign_offs(directory: Path) -> dict[str, SignOff]:
    """Return the last decision on every variant that has one, by key.

    Raises:
        InputError: a damaged file.
    """
    return {entry.variant: entry for entry in _entries(directory)}


def sign_off(
    directory: Path, variant: str, decision: str, *, by: str, note: str, predictions: str
) -> SignOff:
    """Add a decision to the file, whole or not at all, also if several people decide at once.

    Args:
        directory: directory of the study.
        variant: key of the variant.
        decision: one of `DECISIONS`.
        by: name of the person, 1 to 60 printable characters.
        note: why, at most `NOTE_LENGTH` characters; line breaks become spaces.
        predictions: digest of the predictions of the variant.

    Raises:
        InputError: a decision, name or note that is not allowed, a damaged file, or one that cannot be written.
    """
    require_one_of("decision", decision, DECISIONS)
    words = " ".join(note.split())
    if len(words) > NOTE_LENGTH or not words.isprintable():
        got = f"{len(words):,} characters"
        raise InputError("note", got, f"at most {NOTE_LENGTH:,} printable characters")
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0, tzinfo=None).isoformat()
    entry = SignOff(variant, decision, rater_name(by), words, now, predictions)
    try:
        with filelock.FileLock(directory / ".sign_offs.lock", timeout=10):
            entries = [dataclasses.asdict(each) for each in (*_entries(directory), entry)]
            text = json.dumps(entries, indent=1, ensure_ascii=False)
            write_requested("directory", _path(directory), text.encode(), within=directory)
    except (OSError, filelock.Timeout) as problem:
        got = f"{directory}, which cannot be written ({type(problem).__name__})"
        raise InputError("directory", got, "a writable directory") from None
    return entry


def _path(directory: Path) -> Path:
    return directory / "sign_offs.json"


def _entries(directory: Path) -> list[SignOff]:
    path = _path(directory)
    try:
        rows: list[Mapping[str, str]] = json.loads(read_regular(path))
        entries = [SignOff(**row) for row in rows]
        valid = all(isinstance(value, str) for row in rows for value in row.values())
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError):
        valid = False
    if not valid or any(entry.decision not in DECISIONS for entry in entries):
        got = f"a damaged file, {path}"
        raise InputError("sign-offs", got, "a file that `tfaudit sign` wrote") from None
    return entries
