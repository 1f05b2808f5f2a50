"""A study's directory: members, predictions and examples, with atomic writes, checksums and a lock.

```
DIR/study.json                                                the study as run, versions of libraries, machines, data
DIR/members/VARIANT/MEMBER/{model.keras|model.tflite, history.csv, member.json}
DIR/predictions/split=SPLIT/variant=VARIANT/MEMBER.parquet    columns ranked, probability (fixed-size lists), tied
DIR/examples/SPLIT.parquet                                    example, label, image (PNG, or a text in UTF-8), groups
DIR/examples/classes.parquet                                  class, and facts about its training data
DIR/costs.parquet                                             cost of each variant on this machine
DIR/features.parquet                                          features of the test examples: `tfaudit slices`
DIR/candidates.parquet                                        what `tfaudit compress` chose from
DIR/failures/SPLIT.txt                                        why a condition could not be evaluated
DIR/audit/SPLIT.NAME.FINGERPRINT.zip                          cached results of audits: `tfaudit.analysis.cache`
```
`member.json` is written last and holds the SHA-256 of every other file of the member. Without it, or if a checksum does
not match, the member does not count and is trained again. `member.json` and `study.json` end with a checksum of their
own. Predictions under a condition, with a split such as `fog-3`, follow later and hold their own checksum:
`tfaudit.store.evaluations`. `Store.missing` lists what a study should hold and does not.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import html
import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from tfaudit.datasets.fingerprint import Fingerprint
from tfaudit.errors import InputError, one_line, path_of, require
from tfaudit.predictions import Predictions, frozen
from tfaudit.runtime.regular_files import open_regular, read_regular
from tfaudit.runtime.seals import seal_of_file
from tfaudit.runtime.user_functions import is_reference
from tfaudit.stats.group_codes import CLUSTER
from tfaudit.stats.ranking import RankedClasses
from tfaudit.stats.ties import Ties
from tfaudit.store import parquet
from tfaudit.store.evaluations import Evaluations, prediction_path
from tfaudit.store.files import file_error, remove_unfinished, write_whole
from tfaudit.store.judging import BY_DEFAULT, Judging
from tfaudit.store.members import (
    complete_record,
    failed_record,
    model_origin,
    read_record,
    read_sealed_json,
    sealed_json,
)
from tfaudit.study.conditions import Condition
from tfaudit.study.study import Study

T = TypeVar("T")

FORMAT = 3
"""Format of the directory. No other is read: it increases with every change of a file."""

TABLES = {
    "classes": "examples/classes.parquet",
    "costs": "costs.parquet",
    "candidates": "candidates.parquet",
    "features": "features.parquet",
}


def open_store(directory: str | Path, *, read_only: bool = False) -> Store:
    """Open the directory of a study that has been run or is running; with `read_only` the store never writes a file.

    Raises:
        InputError: there is no study, or this version of tfaudit cannot read it.
    """
    path = path_of("directory", directory) / "study.json"
    if not path.is_file():
        raise _no_study(f"{directory}, which holds no study (no study.json)")
    try:
        content = read_sealed_json(read_regular(path))
        form = content["format"]
        study = content["study"]
        members = content.get("members")
        imported = None
        if members is not None:
            imported = {key: tuple(map(int, numbers)) for key, numbers in members.items()}
    except (OSError, KeyError, TypeError, ValueError, AttributeError):
        expected = "a file that tfaudit wrote; the same `tfaudit run` with another --out starts from scratch"
        raise InputError("directory", f"a damaged file, {path}", expected) from None
    if form != FORMAT:
        got = f"{directory} with the format {form!r}"
        raise InputError("directory", got, f"{FORMAT}, which this version reads")
    return Store(Path(directory), Study.from_json(study), imported, read_only=read_only)


def find_studies(directory: Path) -> dict[str, Path]:
    """Return the directory's study, or the studies in its folders, by name; raise `InputError` if there is none."""
    if (directory / "study.json").is_file():
        return {directory.resolve().name: directory}
    studies = {path.parent.name: path.parent for path in sorted(directory.glob("*/study.json"))}
    if not studies:
        raise _no_study(f"{directory}, which holds no study, nor do its folders (no study.json)")
    return studies


def _no_study(got: str) -> InputError:
    return InputError("directory", got, "a study; `tfaudit run RECIPE --out DIR` makes one")


def _other_data(name: str, split: str, what: str) -> InputError:
    """Return the error about a split that differs from the recorded one."""
    source = f"{name.rpartition('/')[2]}({split!r})" if is_reference(name) else repr(name)
    other = "another number of examples" if what == "number" else f"other {what}"
    expected = (
        "the same examples in the same order at every call (a seed for what shuffles, splits or draws), "
        "or another directory for other data"
    )
    return InputError("dataset", f"{other} from {source} than when the study was begun", expected)


def _outside(count: int, *classes: np.ndarray) -> str:
    """Describe the first number that is not a class from 0 to `count` - 1; return "" if all are."""
    ends = [int(end) for array in classes if array.size for end in (array.min(), array.max())]
    return next((f"class {end} of {count}" for end in ends if not 0 <= end < count), "")


class Missing(NamedTuple):
    """A result that a study should hold and does not.

    Attributes:
        variant: key of the variant.
        member: number of the member.
        split: "test", or the split of a condition.
        reason: "failed" (the member's record holds the traceback), "damaged", "missing", "of another study", or "not in
            study.json": the member is complete, so `study.json` is an older one.
    """

    variant: str
    member: int
    split: str
    reason: str


class Store:
    """The files of one study. Reading them needs no TensorFlow.

    `imported` are the numbers of the members by variant of a study of imported predictions, whose populations may
    differ in size; None for a study that was run. With `read_only`, `write` fails as on a read-only disk.
    """

    prediction_path = staticmethod(prediction_path)

    def __init__(
        self,
        directory: Path,
        study: Study,
        imported: Mapping[str, tuple[int, ...]] | None = None,
        *,
        read_only: bool = False,
    ) -> None:
        self.directory = directory
        self.read_only = read_only
        self.study = study
        self.imported = imported
        self._identities: dict[str, tuple[object, Mapping[str, Any]]] = {}
        self.evaluations = Evaluations(
            directory, study, self.origin
        )  # predictions under the study's conditions

    @classmethod
    def create(
        cls,
        directory: str | Path,
        study: Study,
        versions: Mapping[str, str],
        imported: Mapping[str, tuple[int, ...]] | None = None,
        *,
        data: Mapping[str, Fingerprint] | None = None,
        accept_changed_code: bool = False,
    ) -> Store:
        """Write a study into a directory, or continue the same study.

        The population may grow, and there may be more variants; existing members stay. `imported` is as in the class.
        `data` are the fingerprints of the splits "train" and "test", to record. `accept_changed_code` continues even
        if a function's source file has changed, and with it the data; a study with a changed model file is always
        another one.

        Raises:
            InputError: the directory holds another study, a larger population of this one, or members of other data.
            OSError: the directory cannot be written.
        """
        directory = Path(directory)
        description = study.to_json()
        existing = open_store(directory) if (directory / "study.json").exists() else None
        if existing and existing.variants:  # a study without members may be replaced
            existing.study.check_continuation(
                study, directory, accept_changed_code=accept_changed_code
            )
            if not accept_changed_code:
                existing.require_same_data(**(data or {}))
        store = cls(directory, study, imported)
        remove_unfinished(directory)
        directory.mkdir(parents=True, exist_ok=True)
        before = existing._content() if existing else {}
        recorded = {split: one.to_json() for split, one in (data or {}).items()}
        # A study.json that was lost named the tables, which `run` does not all make again.
        tables = [name for name, path in TABLES.items() if (directory / path).exists()]
        content = {
            "format": FORMAT,
            "study": description,
            "versions": dict(versions),
            "members": imported,
            "machines": before.get("machines", []),
            "data": recorded or before.get("data", {}),
            "tables": sorted({*before.get("tables", []), *tables}),
        }
        store.write("study.json", sealed_json(content))
        return store

    def add_machine(self, machine: Mapping[str, Any]) -> None:
        """Record in `study.json` an engine and its processors, unless they are there; may raise `OSError`."""
        content = self._content()
        if dict(machine) not in content["machines"]:
            content["machines"].append(dict(machine))
            self.write("study.json", sealed_json(content))

    @functools.cached_property
    def judging(self) -> Judging:
        """How the study is judged by default."""
        recorded = self._content().get("judging")
        return BY_DEFAULT if recorded is None else Judging.from_json(recorded)

    def save_judging(self, judging: Judging) -> None:
        """Record in `study.json` how the study is judged by default."""
        self.write("study.json", sealed_json({**self._content(), "judging": judging.to_json()}))
        self.__dict__.pop("judging", None)

    @property
    def data(self) -> dict[str, Fingerprint]:
        """Fingerprints of the training and the test set by split, "train" and "test"; none where not recorded."""
        recorded = self._content().get("data", {})
        return {split: Fingerprint.from_json(fields) for split, fields in recorded.items()}

    def require_same_data(self, **splits: Fingerprint) -> None:
        """Raise an `InputError` if a split is not the one that is recorded: members are joined to it by position."""
        for split, recorded in self.data.items():
            if split in splits and (what := recorded.difference(splits[split])):
                raise _other_data(self.study.dataset, split, what)

    def _content(self) -> dict[str, Any]:
        """Return the content of `study.json`."""
        return read_sealed_json(self.read("study.json"))

    def _repr_html_(self) -> str:
        """Return name and directory of the study, and the number of members of every variant, for a notebook."""
        titles = self.study.titles
        rows = "".join(
            f"<tr><td>{html.escape(titles.get(key, key))}</td><td>{len(self.members(key))}</td></tr>"
            for key in self.variants
        )
        head = f"<b>{html.escape(self.study.name)}</b> in {html.escape(str(self.directory))}"
        return f"<p>{head}</p><table><tr><th>variant</th><th>members</th></tr>{rows}</table>"

    @property
    def variants(self) -> tuple[str, ...]:
        """Keys of the variants with at least one complete member, the dense baseline first."""
        return tuple(key for key in self.study.keys if self.members(key))

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits with predictions."""
        folders = (self.directory / "predictions").glob("split=*")
        return tuple(sorted(folder.name.removeprefix("split=") for folder in folders))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The study's conditions with at least one complete evaluation, in the study's order."""
        pairs = [(key, member) for key in self.study.keys for member in self.members(key)]
        is_complete = self.evaluations.is_complete
        return tuple(
            c for c in self.study.conditions if any(is_complete(*pair, c.split) for pair in pairs)
        )

    @staticmethod
    def member_path(variant: str, member: int, file: str) -> str:
        """Return the path of one of a member's files, relative to the study's directory."""
        return f"members/{variant}/{member:03d}/{file}"

    def members(self, variant: str) -> tuple[int, ...]:
        """Return the numbers of the members whose record is complete; see `is_complete`."""
        folders = (self.directory / "members" / variant).glob("*/member.json")
        names = (path.parent.name for path in folders)
        numbers = sorted(int(name) for name in names if name.isdecimal())
        population = self.study.population
        return tuple(n for n in numbers if n < population and not self._incompleteness(variant, n))

    def record(self, variant: str, member: int) -> dict[str, Any]:
        """Return the content of `member.json`; empty if it is missing, damaged, or of another member or study."""
        record = self._any_record(variant, member)
        return {} if self._is_foreign(record, variant) else record

    def _any_record(self, variant: str, member: int) -> dict[str, Any]:
        """Return the content of `member.json`, also of another study; empty if it is another member's."""
        record = read_record(self.directory / self.member_path(variant, member, "member.json"))
        named = record.get("variant", variant), record.get("member", member)
        return record if named == (variant, member) else {}

    def _is_foreign(self, record: Mapping[str, Any], variant: str) -> bool:
        """Return whether a record is of a complete member of another study."""
        own = self.study.member_seals.get(variant)
        complete = record.get("status") == "complete"
        return complete and own is not None and record.get("study") != own

    def origin(self, variant: str, member: int) -> dict[str, Any]:
        """Return the identity of a member's model: the SHA-256 of its file and its seed, None if unknown."""
        return model_origin(self.record(variant, member))

    def is_complete(self, variant: str, member: int) -> bool:
        """Return whether a member counts: its record is complete, and every file matches its checksum."""
        return not self.damage(variant, member)

    def damage(self, variant: str, member: int) -> str:
        """Return in a few words why a member must be made again; empty if all its files are as they were written."""
        if gap := self._incompleteness(variant, member):
            return "a damaged record" if gap == "damaged" else gap
        record = self.record(variant, member)
        if not self._is_of_these_examples(record):
            return "its predictions are of different examples"
        for path, facts in record["files"].items():
            try:
                with open_regular(self.directory / path) as file:
                    intact = seal_of_file(file) == facts.get("sha256")
            except OSError as problem:
                return f"{path} cannot be read ({problem.strerror})"
            if not intact:
                return f"{path} does not match its checksum"
        return ""

    def save_member(
        self, variant: str, member: int, files: Mapping[str, bytes], record: Mapping[str, Any]
    ) -> None:
        """Write files by path relative to the study's directory, then `member.json` with further facts.

        The member counts once its `member.json` is written. Its predictions refer to the stored test examples.
        """
        record_path = self.member_path(variant, member, "member.json")
        (self.directory / record_path).unlink(missing_ok=True)
        for path, content in files.items():
            self.write(path, content)
        own = {"study": self.study.member_seals.get(variant), "examples": self.examples_seal()}
        self.write(record_path, complete_record(variant, member, files, {**record, **own}))

    def missing(self, *splits: str) -> tuple[Missing, ...]:
        """Return the results of some splits that the study should hold and does not, in the order of the variants.

        A study that was run should hold every member of its population, and under a condition every member that the
        study evaluates, where any has been evaluated; a study of imported predictions those that were imported.

        Args:
            *splits: names of the splits, "test" by default. The records of members are read once for all conditions.
        """
        evaluated = functools.cache(self.evaluated_members)
        gaps: list[Missing] = []
        for split in splits or ("test",):
            if not self._is_condition(split):
                gaps += self._missing_members(split)
            elif any(self.directory.glob(f"predictions/split={split}/variant=*/*.parquet")):
                exists = self.evaluations.exists
                lacking = (pair for pair in evaluated() if not exists(*pair, split))
                gaps += [Missing(*pair, split, "missing") for pair in lacking]
        return tuple(gaps)

    def _missing_members(self, split: str) -> list[Missing]:
        gaps = [Missing(*pair, split, self._incompleteness(*pair)) for pair in self.expected()]
        return [*(gap for gap in gaps if gap.reason), *self._unlisted()]

    def _incompleteness(self, variant: str, member: int) -> str:
        """Return "failed", or whether the record is "damaged", "missing" or "of another study"; empty if complete."""
        record = self._any_record(variant, member)
        if self._is_foreign(record, variant):
            return "of another study"
        status = record.get("status")
        if status in ("complete", "failed"):
            return "" if status == "complete" else "failed"
        path = self.directory / self.member_path(variant, member, "member.json")
        return "damaged" if path.exists() else "missing"

    def _is_condition(self, split: str) -> bool:
        return any(split == condition.split for condition in self.study.conditions)

    def _unlisted(self) -> list[Missing]:
        """Return the complete members that are not in the study, since its `study.json` is older than they are."""
        listed = set(self.expected())
        places = sorted(self.directory.glob("members/*/*/member.json"))
        folders = [path.parts[-3:-1] for path in places]
        pairs = [(key, int(number)) for key, number in folders if number.isdecimal()]
        return [
            Missing(*pair, "test", "not in study.json")
            for pair in pairs
            if pair not in listed and not self._incompleteness(*pair)
        ]

    def evaluated_members(self) -> list[tuple[str, int]]:
        """Return variants and numbers of the complete members to test under every condition."""
        keys, most = self.study.evaluated
        return [(key, member) for key in keys for member in self.members(key) if member < most]

    def expected(self) -> list[tuple[str, int]]:
        """Return variants and numbers of the members that there should be: the population, or the imported ones."""
        keys = self.study.keys
        everyone = range(self.study.population)
        given = self.imported
        return [
            (key, n) for key in keys for n in (everyone if given is None else given.get(key, ()))
        ]

    def save_failure(self, variant: str, member: int, traceback: str) -> None:
        """Record that a member failed; a later run tries it again."""
        path = self.member_path(variant, member, "member.json")
        self.write(path, failed_record(variant, member, traceback))

    def failures(self) -> dict[tuple[str, int], str]:
        """Return the tracebacks of the members that failed, by variant and number."""
        records = {pair: self.record(*pair) for pair in self.expected()}
        return {
            pair: record["traceback"]
            for pair, record in records.items()
            if record.get("status") == "failed"
        }

    def write(self, path: str, content: bytes) -> None:
        """Write a file by its path relative to the study's directory, whole or not at all; may raise `OSError`."""
        if self.read_only:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        write_whole(self.directory / path, content, within=self.directory)

    def read(self, path: str) -> bytes:
        """Return the content of a file by its path relative to the study's directory; may raise `InputError`."""
        with self._opened(path) as file:
            return file.read()

    def _opened(self, path: str) -> io.BufferedReader:
        place = self.directory / path
        try:
            return open_regular(place)
        except OSError as problem:
            got = f"a file that cannot be read ({problem.strerror}), {place}"
            raise file_error(path.split("/")[0], got) from None

    def read_checked(self, variant: str, member: int, path: str) -> bytes:
        """Return the content of a member's file; raise `InputError` if it is missing or does not match its checksum."""
        with self._checked_file(variant, member, path) as file:
            return file.read()

    @contextlib.contextmanager
    def _checked_file(self, variant: str, member: int, path: str) -> Iterator[BinaryIO]:
        """Open a member's file; raise `InputError` if it is missing or does not match its checksum."""
        with self._opened(path) as file:
            stored = self.record(variant, member)["files"].get(path, {})
            if seal_of_file(file) != stored.get("sha256"):
                got = f"a file that does not match its checksum, {self.directory / path}"
                raise file_error(path.split("/")[0], got)
            file.seek(0)
            yield file

    def predictions(
        self, variant: str, split: str = "test", *, members: Sequence[int] | None = None
    ) -> Predictions:
        """Return the predictions of a variant's complete members; under a condition, of those evaluated there.

        Args:
            variant: key of the variant.
            split: "test", or the split of one of `conditions`.
            members: numbers of the members; all by default.

        Raises:
            InputError: there is no such variant, split or complete member, or a file is damaged.
        """
        made_from_dense = self.study.is_made_from_dense(variant)
        members = self._predicted_members(variant, split, members)
        identity = self._identity(split)
        count = len(identity["labels"])
        ranked = np.empty((0, count, 0))
        ties = []
        known = True
        for i, member in enumerate(members):
            one, has_probabilities = self._ranked(variant, member, split)
            if i == 0:
                kind = np.min_scalar_type(len(identity["class_names"]) - 1)
                ranked = np.empty((len(members), count, one.classes.shape[1]), kind)
            if one.classes.shape != ranked.shape[1:]:
                path = self.directory / prediction_path(variant, member, split)
                ranks = f"{one.classes.shape[1]} ranks instead of {ranked.shape[2]}"
                raise file_error("predictions", f"predictions of {ranks}, {path}")
            ranked[i] = one.classes
            ties.append(one.ties)
            known = known and has_probabilities

        def probabilities(position: int) -> np.ndarray:
            return self._probabilities(variant, members[position], split)

        return Predictions(
            identity["labels"],
            frozen(ranked),
            probabilities if known else None,
            class_names=identity["class_names"],
            listed=identity["listed"],
            example_ids=identity["example_ids"],
            members=members,
            parents=members if made_from_dense else None,
            clusters=identity["clusters"],
            ties=Ties.joined(ties, [count] * len(ties)),
        )

    def _predicted_members(
        self, variant: str, split: str, wanted: Sequence[int] | None
    ) -> tuple[int, ...]:
        """Return the members with predictions of a split, or those of them that are wanted."""
        complete = self.members(variant)
        if not complete:
            got = f"{variant!r} without a complete member in {self.directory}"
            how = "a variant with a complete member; run the study first"
            raise InputError("variant", got, how)
        members = complete if wanted is None else tuple(wanted)
        allowed = f"members among {', '.join(map(str, complete))}"
        require(bool(members) and set(members) <= set(complete), "members", members, allowed)
        if self._is_condition(split):
            members = tuple(n for n in members if self.evaluations.exists(variant, n, split))
            if not members:
                got = f"{split!r}, which has not been predicted with {variant!r}"
                raise InputError("split", got, "a split with predictions; run the study first")
        return members

    def _ranked(self, variant: str, member: int, split: str) -> tuple[RankedClasses, bool]:
        """Return a member's ranked classes without probabilities, and whether it has any.

        Raise an `InputError` if they are not classes of the examples that are stored.
        """
        path = prediction_path(variant, member, split)
        if not self._is_of_these_examples(self.record(variant, member)):
            got = f"predictions of examples that {self.example_path('test')} does not hold"
            raise file_error("predictions", f"{got}, {self.directory / path}")
        if self._is_condition(split):
            stored = self.evaluations.read(variant, member, split)
            ranked = RankedClasses(stored.classes, ties=stored.ties)
            has_probabilities = stored.probabilities is not None
        else:
            ranked, has_probabilities = self._decoded(variant, member, parquet.read_classes)
        identity = self._identity(split)
        if (examples := len(ranked.classes)) != (count := len(identity["labels"])):
            got = f"predictions of {examples} examples instead of {count}"
        elif not ranked.classes.size:
            got = "predictions without classes"
        elif wrong := _outside(len(identity["class_names"]), ranked.classes, ranked.ties.classes):
            got = wrong
        else:
            return ranked, has_probabilities
        raise file_error("predictions", f"{got}, {self.directory / path}")

    def _decoded(self, variant: str, member: int, read: Callable[[BinaryIO], T]) -> T:
        """Return what a function reads from a member's predictions of the test set, whose values may be of any type."""
        path = prediction_path(variant, member)
        with self._checked_file(variant, member, path) as file:
            try:
                return read(file)
            except parquet.DAMAGED as problem:
                got = f"a damaged file ({one_line(problem)}), {self.directory / path}"
                raise file_error("predictions", got) from None

    def _probabilities(self, variant: str, member: int, split: str) -> np.ndarray:
        """Return the probabilities of a member's ranked classes, `(N, k)`."""
        if self._is_condition(split):
            probabilities = self.evaluations.read(variant, member, split).probabilities
            assert probabilities is not None
            return probabilities
        return self._decoded(variant, member, parquet.read_probabilities)

    def _identity(self, split: str) -> Mapping[str, Any]:
        """Return what all populations share, arguments of `Predictions`: read once, as long as the file is the same."""
        path = self.directory / self.example_path(split)
        stat = path.stat() if path.exists() else None  # `examples` raises
        stamp = stat and (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        if split not in self._identities or self._identities[split][0] != stamp:
            examples = self.examples(split, images=False, groups=False)
            if examples.attrs["clustered"]:
                examples = self.examples(split, images=False)
            identity = {
                "labels": examples["label"].to_numpy(),
                "class_names": examples.attrs["class_names"],
                "listed": examples.attrs["listed"],
                "example_ids": examples["example"].to_numpy(),
                "clusters": examples.get(CLUSTER),
            }
            self._identities[split] = stamp, identity
        return self._identities[split][1]

    def save_examples(
        self,
        split: str,
        labels: np.ndarray,
        ids: Sequence[str],
        class_names: Sequence[str],
        images: Sequence[bytes],
        groups: pd.DataFrame | None = None,
        remarks: Sequence[str] = (),
    ) -> None:
        """Write the N examples of a split, so that they can be shown without the data set.

        Labels are `(N,)` integers. Images are PNGs, UTF-8 texts for examples that are not images, or empty bytes if
        there is neither. Groups are N rows in the order of the examples, with columns of text or numbers, such as
        writer. Remarks are sentences that every reader of results needs, such as which images were left out.

        Raises:
            InputError: `groups` has another length, a reserved column name, or values of another type.
        """
        content = parquet.example_bytes(
            labels, ids, class_names, images, groups, split=split, remarks=remarks
        )
        self.write(f"examples/{split}.parquet", content)

    def examples(
        self, split: str = "test", *, images: bool = True, groups: bool = True
    ) -> pd.DataFrame:
        """Return one row per example: `example` (its id), `label`, `image` (bytes of a PNG or a text) and its groups.

        `.attrs["class_names"]` holds the class names, `.attrs["groups"]` the names of the columns of groups; a column
        `cluster` of groups makes the clusters of all predictions, as `.attrs["clustered"]` says. A computed
        corruption has the test set's examples.

        Raises:
            InputError: there is no such split, or the file is damaged.
        """
        with self._example_file(split) as file:
            examples = parquet.read_examples(file, images=images, groups=groups)
            if examples.attrs.pop("split") != Path(self.example_path(split)).stem:
                raise OSError("the examples of another split")
        return examples

    def remarks(self, split: str = "test") -> tuple[str, ...]:
        """Return the sentences that were stored with a split's examples; errors are those of `examples`."""
        with self._example_file(split) as file:
            return parquet.read_remarks(file)

    def examples_seal(self, split: str = "test") -> str | None:
        """Return a checksum of a split's ids, labels and class names; None if the file is missing or damaged."""
        try:
            with self._example_file(split) as file:
                return parquet.identity_seal(file)
        except InputError:
            return None

    def _is_of_these_examples(self, record: Mapping[str, Any]) -> bool:
        """Return whether a member was tested on the examples that are stored."""
        return record.get("examples") == self.examples_seal()

    def images(self, split: str, positions: Sequence[int]) -> list[bytes]:
        """Return the images at some positions, in any order, without reading others: PNGs or texts, empty for none.

        Raises:
            InputError: there is no such position, or the file is damaged.
        """
        with self._example_file(split) as file:
            try:
                return parquet.read_images(file, positions)
            except IndexError as problem:
                error = InputError(
                    "positions", repr(list(positions)), f"{problem} of the examples in {file.name}"
                )
        raise error

    def example_path(self, split: str) -> str:
        """Return the path of a split's examples in the study's directory; a computed corruption has the test set's."""
        computed = any(split == c.split and c.is_computed for c in self.study.conditions)
        return f"examples/{'test' if computed else split}.parquet"

    @contextlib.contextmanager
    def _example_file(self, split: str) -> Iterator[BinaryIO]:
        """Open the file of a split's examples; errors in reading it become the error of a damaged file."""
        with self._opened(self.example_path(split)) as file:
            try:
                yield file
            except parquet.DAMAGED:
                raise file_error("examples", f"a damaged file, {file.name}") from None

    def save_table(self, name: str, table: pd.DataFrame) -> None:
        """Write a table of text and numbers: "classes" (`class`, `train_examples`), "costs" or "candidates".

        From then on `study.json` names the table, so that a lost one is noticed; `run` makes lost classes again.

        Raises:
            InputError: a column holds other values.
        """
        self.write(TABLES[name], parquet.table_bytes(table))
        content = self._content()
        if name not in content["tables"]:
            content["tables"] = sorted([*content["tables"], name])
            self.write("study.json", sealed_json(content))

    def table(self, name: str) -> pd.DataFrame | None:
        """Return the table that `save_table` wrote, or None if none was; `InputError` if it is damaged or lost."""
        path = TABLES[name]
        try:
            if (self.directory / path).exists():
                return parquet.read_table(self.read(path))
            state = "a missing"
            if name not in self._content()["tables"]:
                return None
        except parquet.DAMAGED:
            state = "a damaged"
        error = file_error(name, f"{state} file, {self.directory / path}")
        if command := {"costs": "cost", "features": "slices"}.get(name):
            expected = f"a file that tfaudit wrote; `tfaudit {command} {self.directory}` does"
            error = InputError(name, error.got, expected)
        raise error
