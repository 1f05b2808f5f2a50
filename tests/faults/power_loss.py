"""Loses power at a moment of a run or a search, one per seed: `python -m tests.faults.power_loss FIRST LAST`.

Each program is recorded once. A trial restores what a disk may hold after a loss of power behind one of its operations.
No command may believe what is torn, and the same program must end with the same files.
Prints a line per trial that ends otherwise, and last a table of the trials.
"""

import contextlib
import dataclasses
import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd

from tests.builders.power_loss import (
    ACKNOWLEDGED,
    Acknowledged,
    Operation,
    left_on_disk,
    recorded,
    restored,
)
from tests.builders.replayed_studies import STUDY, replayed_study
from tests.builders.trials import Ending, Tally, command, ending
from tfaudit.errors import InputError
from tfaudit.store.store import Store, open_store
from tfaudit.study.variants import Quantized

ROOT = Path(__file__).parents[2]
SMALL = dataclasses.replace(STUDY, population=2, variants=(Quantized("int8"),), severities=(3,))


def acknowledge(directory: Path, number: int) -> None:
    """Tell the recorder how many results are stored."""
    with contextlib.suppress(FileNotFoundError):
        (directory / f"{ACKNOWLEDGED}{number}").unlink()


def run_study(directory: Path) -> None:
    """Run a small study."""
    save_member, numbers = Store.save_member, itertools.count(1)

    def save_and_acknowledge(store, *arguments):
        save_member(store, *arguments)
        acknowledge(directory, next(numbers))

    with mock.patch.object(Store, "save_member", save_and_acknowledge):
        replayed_study(directory, SMALL)


def search(directory: Path) -> None:
    """Search for the smallest file that passes, among few."""
    from tests.builders.compressible import CLASSES, blobs, classifier
    from tests.builders.kinds import only_kinds
    from tfaudit import Limits
    from tfaudit.datasets.examples import Examples
    from tfaudit.extensions.search import search_report
    from tfaudit.extensions.search.search import compress_to_limits

    x, y = blobs(800, 2)
    data = Examples(x, y, class_names=CLASSES, ids=[f"e{i:03d}" for i in range(800)])
    model = directory.with_name("blobs.keras")
    if not model.exists():
        classifier().save(model)
    with (
        only_kinds("float32", "dynamic_range"),
        # The report takes seconds, and follows from the rest.
        mock.patch.object(search_report, "write_report", return_value=None),
    ):
        compress_to_limits(model, data, Limits(overall_drop_pp=4), out=directory)


PROGRAMS: dict[str, Callable[[Path], None]] = {"run": run_study, "search": search}
COMMANDS = (("gate", "--max-overall-drop", 30), ("check",))
SEARCH_EVERY = 10
"""Number of trials of which one is a search, which takes seconds."""


class Recording:
    """A program's operations, and what is in its directory in the end."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.program = name, PROGRAMS[name]
        self.directory = folder / name / "whole"
        self.directory.parent.mkdir()
        script = [sys.executable, "-m", "tests.faults.power_loss", name, str(self.directory)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.operations: list[Operation] = recorded(
            script, self.directory, folder / f"{name}.strace", cwd=ROOT, env=environment
        )
        self.files = contents(self.directory)
        restored(
            left_on_disk(self.operations, len(self.operations), None), self.directory, self.copy
        )
        assert contents(self.copy) == self.files, "strace has not recorded all writes"

    @property
    def copy(self) -> Path:
        return self.directory.with_name("copy")

    def trial(self, seed: int) -> tuple[str, str]:
        """Lose power at a moment; return which, and what is wrong with what follows."""
        rng = np.random.default_rng(seed)
        number = int(rng.integers(1, len(self.operations) + 1))
        share = float(rng.choice([0, 0.2, 0.5, 0.8]))
        disk = left_on_disk(self.operations, number, rng, share)
        restored(disk, self.directory, self.copy)
        title = f"{self.name}, operation {number} of {len(self.operations)}, {share:.0%} kept"
        stored = sum(isinstance(each, Acknowledged) for each in self.operations[:number])
        return title, self._wrong_files(stored)

    def _wrong_files(self, stored: int) -> str:
        if self.name == "run":
            gate, check = (command(*words, self.copy) for words in COMMANDS)
            whole = command(*COMMANDS[0], self.directory)
            if gate.defect or (gate.code != 2 and _bare(gate) != _bare(whole)):
                return f"gate: {gate.defect or gate.text}"
            left = {n: c for n, c in contents(self.copy).items() if not n.endswith(".part")}
            believed = "all unchanged" in check.text
            if check.defect or (believed and not left.items() <= self.files.items()):
                return f"check: {check.defect or check.text}"
            if stored and (members := finished(self.copy)) < stored:
                return f"{members} members of {stored} that were stored"
        again = ending(lambda: self.program(self.copy))
        if again.defect or again.is_line:
            return f"cannot go on: {again.defect or again.text}"
        return "" if contents(self.copy) == self.files else "other files in the end"


def finished(directory: Path) -> int:
    """Return the number of members that are stored completely."""
    try:
        store = open_store(directory)
    except InputError:
        return 0
    return sum(
        store.is_complete(variant, member)
        for variant in store.variants
        for member in range(SMALL.population)
    )


def _bare(end: Ending) -> list[str]:
    """The words of a result without the directory."""
    return [word for word in end.text.split() if os.sep not in word]


def contents(directory: Path) -> dict[str, object]:
    """What has to be equal in the end: the files without locks, caches, dates and latencies."""
    left_out = {".lock"}
    made = {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.name not in left_out and "logs" not in path.parts
    }
    if "candidates.csv" in made:
        table = pd.read_csv(directory / "candidates.csv").drop(columns="latency_1_ms")
        return {
            "candidates.csv": table.to_csv(),
            **{n: made[n] for n in ("model.tflite", "judged.csv")},
        }
    return made


def main(first: int, last: int) -> None:
    tally = Tally("power losses")
    with tempfile.TemporaryDirectory() as name:
        recordings = {program: Recording(program, Path(name)) for program in PROGRAMS}
        for seed in range(first, last):
            recording = recordings["search" if seed % SEARCH_EVERY == 0 else "run"]
            title, problem = recording.trial(seed)
            tally.add(f"seed {seed}, {title}", Ending(), problem)
            shutil.rmtree(recording.copy)
    print(tally)


if __name__ == "__main__":
    if sys.argv[1] in PROGRAMS:
        PROGRAMS[sys.argv[1]](Path(sys.argv[2]))
    else:
        main(int(sys.argv[1]), int(sys.argv[2]))
