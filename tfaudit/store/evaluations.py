"""Predictions of a study's members under its conditions.

A member's record holds the checksum of its predictions of the test set. Evaluations follow later and by the hundred, so
each file holds a checksum of its content, its variant, member and split, and the origin of its model. A file that is
damaged, that stands in another's place, or whose member has been trained again since, does not count.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tfaudit.errors import InputError
from tfaudit.runtime.regular_files import read_regular
from tfaudit.stats.ranking import RankedClasses
from tfaudit.store import parquet
from tfaudit.store.files import file_error, write_whole
from tfaudit.study.study import Study

_PLACE = ("variant", "member", "split")


def prediction_path(variant: str, member: int, split: str = "test") -> str:
    """Return the path of a member's predictions, relative to the study's directory."""
    return f"predictions/split={split}/variant={variant}/{member:03d}.parquet"


class Evaluations:
    """The files `predictions/split=SPLIT/variant=VARIANT/MEMBER.parquet` of a study's conditions.

    `origin` returns the identity of the model of a variant and member (`Store.origin`).
    """

    def __init__(
        self, directory: Path, study: Study, origin: Callable[[str, int], dict[str, Any]]
    ) -> None:
        self._directory, self._study, self._origin = directory, study, origin

    def save(self, variant: str, member: int, split: str, ranked: RankedClasses) -> None:
        """Write a complete member's predictions under a condition's split, whole or not at all; may raise `OSError`."""
        content = parquet.prediction_bytes(ranked, self._facts(variant, member, split))
        write_whole(self._path(variant, member, split), content, within=self._directory)

    def exists(self, variant: str, member: int, split: str) -> bool:
        """Return whether there is a file, valid or not."""
        return self._path(variant, member, split).is_file()

    def is_complete(
        self, variant: str, member: int, split: str, examples: int | None = None
    ) -> bool:
        """Return whether the evaluation counts: undamaged, of the current model, and of `examples` examples if set."""
        try:
            ranked = self.read(variant, member, split)
        except InputError:
            return False
        return examples is None or len(ranked.classes) == examples

    def read(self, variant: str, member: int, split: str) -> RankedClasses:
        """Return what `save` wrote; a missing or damaged file, or one of an earlier training, raises `InputError`."""
        path = self._path(variant, member, split)
        try:
            ranked, origin = parquet.read_sealed_predictions(read_regular(path))
        except parquet.DAMAGED:
            raise file_error(
                "predictions", f"a {'damaged' if path.exists() else 'missing'} file, {path}"
            ) from None
        facts = self._facts(variant, member, split)
        if any(origin.get(name) != facts[name] for name in _PLACE):
            own = ", ".join(f"{name} {origin.get(name)}" for name in _PLACE)
            raise file_error("predictions", f"predictions of {own}, in another's place, {path}")
        if origin != facts:
            raise file_error(
                "predictions", f"predictions of another model than this member, {path}"
            )
        return ranked

    def _facts(self, variant: str, member: int, split: str) -> dict[str, Any]:
        """Return what a file's predictions must be of: a place, and the identity of the member's model."""
        place = dict(zip(_PLACE, (variant, member, split), strict=True))
        return {**self._origin(variant, member), **place}

    def delete(self, split: str) -> None:
        """Delete all evaluations of a split, for instance because its examples changed."""
        shutil.rmtree(self._directory / f"predictions/split={split}", ignore_errors=True)

    def save_failure(self, split: str, traceback: str) -> None:
        """Record why a condition could not be evaluated for every member; a later run tries it again."""
        write_whole(self._failure_path(split), traceback.encode(), within=self._directory)

    def delete_failure(self, split: str) -> None:
        """Delete the record of a failure, if there is one."""
        self._failure_path(split).unlink(missing_ok=True)

    def failures(self) -> dict[str, str]:
        """Return the tracebacks of the study's conditions that failed, by split."""
        paths = {
            condition.split: self._failure_path(condition.split)
            for condition in self._study.conditions
        }
        return {
            split: read_regular(path).decode() for split, path in paths.items() if path.is_file()
        }

    def _path(self, variant: str, member: int, split: str) -> Path:
        return self._directory / prediction_path(variant, member, split)

    def _failure_path(self, split: str) -> Path:
        return self._directory / f"failures/{split}.txt"
