"""Predictions of a study's members under its conditions: what has been made, from what, and what failed.

A member's record vouches for its predictions of the test set. Evaluations come later and by the hundred, so each file
vouches for itself: it carries a checksum of its contents and what it was made from. One that is damaged, or whose
member has been made anew since, does not count.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tfaudit.errors import InputError
from tfaudit.stats.ranking import RankedClasses
from tfaudit.store import parquet
from tfaudit.store.members import MEND, MemberRecords

__all__ = ["Evaluations"]


class Evaluations:
    """The files `predictions/split=SPLIT/variant=VARIANT/MEMBER.parquet` of a study's conditions.

    Args:
        records: of the members.
    """

    def __init__(self, records: MemberRecords) -> None:
        self._records = records

    def save(self, variant: str, member: int, split: str, ranked: RankedClasses) -> None:
        """Writes an evaluation, whole or not at all.

        Args:
            variant: key.
            member: number; it is complete.
            split: of the condition.
            ranked: what the member predicts.

        Raises:
            OSError: the file cannot be written.
        """
        content = parquet.sealed_prediction_bytes(ranked, self._records.origin(variant, member))
        self._records.write(self._records.prediction_path(variant, member, split), content)

    def is_there(self, variant: str, member: int, split: str) -> bool:
        """Whether there is a file, good or bad."""
        return self._path(variant, member, split).is_file()

    def is_complete(self, variant: str, member: int, split: str, examples: int | None = None) -> bool:
        """Whether the evaluation counts: as it was written, of the member as it is now, and of so many examples."""
        try:
            ranked = self.read(variant, member, split)
        except InputError:
            return False
        return examples is None or len(ranked.classes) == examples

    def read(self, variant: str, member: int, split: str) -> RankedClasses:
        """Return what `save` wrote.

        Raises:
            InputError: the file is missing or damaged, or the member has been made anew since.
        """
        path = self._path(variant, member, split)
        try:
            ranked, origin = parquet.read_sealed_predictions(path.read_bytes())
        except parquet.DAMAGED:
            state = "is damaged" if path.exists() else "is missing"
            raise InputError(f"predictions: {path} {state}; {MEND}") from None
        if origin != self._records.origin(variant, member):
            raise InputError(f"predictions: {path} is of another model than this member; {MEND}")
        return ranked

    def forget(self, split: str) -> None:
        """Removes every evaluation of a split: its examples are others now."""
        shutil.rmtree(self._records.directory / f"predictions/split={split}", ignore_errors=True)

    def save_failure(self, split: str, traceback: str) -> None:
        """Records why a condition could not be evaluated for every member; a later run tries it again."""
        self._records.write(f"failures/{split}.txt", traceback.encode())

    def forget_failure(self, split: str) -> None:
        """The condition has been evaluated after all."""
        (self._records.directory / f"failures/{split}.txt").unlink(missing_ok=True)

    def failures(self) -> dict[str, str]:
        """Tracebacks by the splits of the study's conditions that failed."""
        splits = [condition.split for condition in self._records.study.conditions]
        places = {split: self._records.directory / f"failures/{split}.txt" for split in splits}
        return {split: place.read_text() for split, place in places.items() if place.is_file()}

    def _path(self, variant: str, member: int, split: str) -> Path:
        return self._records.directory / self._records.prediction_path(variant, member, split)
