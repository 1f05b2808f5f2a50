"""Damages one file of a study per trial and runs every command: `python -m tests.faults.damaged_stores FIRST LAST`.

A trial passes if every command ends in the result of the whole study, in a clear line with the exit code of bad input,
or in a result that names what is missing, and if another run makes the study whole again, bit by bit.

Prints a line per command that ends otherwise (the seed, the damage, the command, what is wrong), and last a table
that counts how the commands ended.
"""

import collections
import contextlib
import dataclasses
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tests.builders.replayed_studies import STUDY, replayed_study
from tests.builders.trials import SILENT, Tally, command, ending, limit_memory
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.store.external import import_predictions
from tfaudit.store.store import open_store
from tfaudit.study.training import Training

OLDER = dataclasses.replace(STUDY, population=2, limit=60, corruptions=(), severities=(3,))
"""The study as it was before its population grew and conditions were added."""

FOREIGN = dataclasses.replace(STUDY, training=Training(epochs=2), seed=1)
"""Another study, whose files have the same names."""

NOT_MADE_BY_RUN = ("audit", "costs.parquet", "logs", ".lock", "report.html")
"""Files that follow from others, or that another command makes."""

DAMAGES = (
    "cut",
    "flip",
    "digit",
    "swap",
    "delete",
    "older",
    "foreign",
    "empty",
    "other",
    "pipe",
    "endless",
)
EVERY = 13
"""Number of trials that share one report and one first screen of the viewer, which take seconds."""


class Studies:
    """A study, an older copy of it, and a study of imported predictions; the whole ones with audits."""

    def __init__(self, folder):
        self.folder = folder
        self.whole = {"run": folder / "run", "imported": folder / "imported"}
        replayed_study(self.whole["run"])
        costs = pd.DataFrame({"variant": ["dense", "int8"], "parameters": 4, "zeros": [0, 1]})
        costs = costs.assign(flops=[9.5, 8], effective_flops=[9.5, 8])
        open_store(self.whole["run"]).save_table("costs", costs)
        self.import_into(self.whole["imported"])
        self.older = folder / "older"
        replayed_study(self.older, OLDER, version=1)
        self.foreign = folder / "foreign"
        replayed_study(self.foreign, FOREIGN, version=2)
        self.endings = {}
        self.titles = {
            kind: open_store(directory).study.titles for kind, directory in self.whole.items()
        }

    def ending(self, kind, everything):
        """How commands end that read the whole study, whose audits are cached."""
        if (kind, everything) not in self.endings:
            commands(self.whole[kind], everything=False)  # caches the audits
            _first_screen(self.whole[kind])
            self.endings[kind, everything] = commands(self.whole[kind], everything=everything)
        return self.endings[kind, everything]

    def import_into(self, directory):
        store = open_store(self.whole["run"])
        dense, *others = store.variants
        compressed = {key: store.predictions(key) for key in others}
        import_predictions(
            directory, store.predictions(dense), compressed, name="imported", paired=["int8"]
        )

    def repaired(self, kind, directory):
        """Run or import a study again."""
        if kind == "imported":
            return ending(lambda: self.import_into(directory))
        return ending(lambda: replayed_study(directory).directory)


def commands(directory, *, everything):
    """Return how the commands end that read a study, by name."""
    ratio = ["--max-size-ratio", 0.9] if directory.name == "run" else []
    endings = {
        "gate": command("gate", directory, "--max-overall-drop", 12, *ratio),
        "audit": command("audit", directory, "--permutations", 20),
        "check": command("check", directory),
    }
    if everything:
        endings["report"] = _report(directory)
        endings["view"] = _first_screen(directory)
    return {
        name: each._replace(text=each.text.replace(str(directory), "DIR"))
        for name, each in endings.items()
    }


def _report(directory):
    end = command("report", directory, "--permutations", 20)
    with contextlib.suppress(OSError):
        page = (directory / "report.html").read_text() if not end.is_line else ""
        end = end._replace(
            text=end.text + re.sub(r"#?\bc\d+-(\w+)?", "", page)
        )  # Vega counts on from report to report
    return end


def _first_screen(directory):
    """The verdict and the table, as the viewer's first page shows them."""

    def read():
        study_audit = StudyAudit.read(open_store(directory))
        study_audit.prepare()
        verdict = study_audit.verdict()
        return (
            verdict.frame().to_csv(),
            verdict.alerts,
            study_audit.summary.frame().to_csv(),
            study_audit.summary.notes,
        )

    return ending(read)


def damaged(directory, seed, studies, kind):
    """Damage one file; return what was done, and the files concerned."""
    rng = np.random.default_rng(seed)
    files = sorted(
        path.relative_to(directory)
        for path in directory.rglob("*")
        if path.is_file() and path.name not in (".lock", "report.html") and "logs" not in path.parts
    )
    by_kind = collections.defaultdict(list)
    for path in files:
        by_kind[path.parts[0], path.suffix].append(path)
    group = by_kind[sorted(by_kind)[int(rng.integers(len(by_kind)))]]
    name = group[int(rng.integers(len(group)))]
    path, damage = directory / name, DAMAGES[seed % len(DAMAGES)]
    content = bytearray(path.read_bytes())
    concerned = [name]
    if damage == "cut":
        del content[int(rng.integers(len(content))) :]
    elif damage == "flip":
        for place in rng.integers(len(content), size=int(rng.integers(1, 4))):
            content[place] ^= 1 << int(rng.integers(8))
    elif damage == "digit":
        places = [i for i, byte in enumerate(content) if chr(byte).isdigit()] or [0]
        place = places[int(rng.integers(len(places)))]
        content[place] = ord("0") + (content[place] + int(rng.integers(1, 10))) % 10
    elif damage in ("swap", "other"):
        others = [other for other in group if other != name] or files
        other = others[int(rng.integers(len(others)))]
        content, before = bytearray((directory / other).read_bytes()), content
        if damage == "swap":
            (directory / other).write_bytes(before)
            concerned.append(other)
    elif (
        kind == "run"
        and damage in ("older", "foreign")
        and (source := getattr(studies, damage) / name).exists()
    ):
        content = bytearray(source.read_bytes())
    elif damage in ("delete", "older", "foreign"):
        path.unlink()
        return "delete", concerned
    elif damage in ("pipe", "endless"):
        path.unlink()
        os.mkfifo(path) if damage == "pipe" else path.symlink_to("/dev/zero")
        return damage, concerned
    else:
        content = bytearray()
    path.write_bytes(content)
    return damage, concerned


def wrong(end, reference, concerned, titles):
    """What is wrong with the way a command ended; empty if nothing is."""
    if end.defect:
        return end.defect
    if end.is_line or (end.text, end.code) == (reference.text, reference.code):
        return ""
    if not any(_names(end.text, path, titles) for path in concerned):
        return SILENT
    return ""


def _names(text, path, titles):
    """Whether a result names what a damaged file lacks: the member, the condition or the file itself."""
    text = " ".join(text.split())
    if str(path) in text or (path.name == "study.json" and "of another study" in text):
        return True
    for key, title in titles.items():
        if f"/{key}/" in str(path) or f"variant={key}" in str(path):
            member = int(re.findall(r"/(\d{3})\b", str(path))[0])
            name = re.escape(title)
            said = rf"{name}: \d of \d members|{key}, member {member}\b|no predictions of {name}"
            return bool(re.search(said, text))
    return False


def differences(directory, reference):
    """The files that a repaired study has otherwise than the whole one; audits and reports follow from the others."""

    def content(root):
        return {
            str(path.relative_to(root)): path.read_bytes()
            for path in root.rglob("*")
            if path.is_file() and path.relative_to(root).parts[0] not in NOT_MADE_BY_RUN
        }

    mine, whole = content(directory), content(reference)
    changed = [name for name in mine.keys() | whole.keys() if mine.get(name) != whole.get(name)]
    return sorted(name for name in changed if not _same_table(mine.get(name), whole.get(name)))


def _same_table(mine, whole):
    """Whether two Parquet files hold the same: some of their bytes mean nothing, such as the name of the writer."""
    try:
        one, two = (
            pq.read_table(pa.BufferReader(content), pre_buffer=False) for content in (mine, whole)
        )
    except (pa.ArrowException, OSError, TypeError, ValueError):
        return False
    # Nothing reads Arrow's own copy of the schema.
    one, two = (
        table.replace_schema_metadata(
            {key: text for key, text in table.schema.metadata.items() if key != b"ARROW:schema"}
        )
        for table in (one, two)
    )
    return one.equals(two, check_metadata=True)


def trial(studies, seed):
    """Yield the name of each command, how it ended, and what is wrong."""
    kind = "imported" if seed % 4 == 3 else "run"
    with tempfile.TemporaryDirectory(dir=studies.folder) as name:
        directory = Path(shutil.copytree(studies.whole[kind], Path(name) / kind))
        damage, concerned = damaged(directory, seed, studies, kind)
        title = f"seed {seed}, {kind}, {damage} {' and '.join(map(str, concerned))}"
        everything = seed % EVERY == 0
        references = studies.ending(kind, everything)
        endings = commands(directory, everything=everything)
        for name, end in endings.items():
            yield title, name, end, wrong(end, references[name], concerned, studies.titles[kind])
        if endings["check"].text == references["check"].text and differences(
            directory, studies.whole[kind]
        ):
            yield title, "check", endings["check"], "believes a damaged file"
        end = studies.repaired(kind, directory)
        left = [] if end.is_line else differences(directory, studies.whole[kind])
        yield (
            title,
            "run again",
            end,
            end.defect or (f"left damaged: {', '.join(left)}" if left else ""),
        )


def main(first, last):
    tally = Tally("damaged stores")
    with tempfile.TemporaryDirectory() as name:
        studies = Studies(Path(name))
        for kind in studies.whole:
            for command_name, end in studies.ending(kind, kind == "run").items():
                if end.defect or end.is_line:
                    print(f"whole study, {kind}: {command_name}: {end}", flush=True)
        limit_memory()
        for seed in range(first, last):
            for title, command_name, end, problem in trial(studies, seed):
                tally.add(f"{title}: {command_name}", end, problem)
    print(tally)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
