"""`tfaudit check`: what is damaged or missing is listed, and nothing else is."""

import dataclasses
import json
import os
import shutil

import pandas as pd
import pytest

from tests.builders.corrupted_studies import corrupted_study
from tests.builders.studies import make_study
from tfaudit.store.members import read_sealed_json, sealed_json
from tfaudit.store.store import TABLES, Store, open_store

AGAIN = [
    "1 missing or damaged: `tfaudit run` with the same recipe and directory makes members, examples and predictions "
    "again"
]


@pytest.fixture
def check(tfaudit):
    """Runs `tfaudit check` on a directory; gives the exit code and the lines."""

    def run(directory):
        code, text, _ = tfaudit("check", directory)
        return code, text.splitlines()

    return run


@pytest.mark.filterwarnings("default::tfaudit.errors.Notice")
def test_a_file_of_predictions_says_what_its_columns_are_read_as(tmp_path, tfaudit, refused):
    """The same lines in `check`, with -v, in the JSON of the gate, and in the study of the audit."""
    scores = {"image": ["x", "y"], "kind": ["cat", "dog"], "cat": [2.0, -1], "dog": [1.0, 3]}
    pd.DataFrame(scores).assign(loss=0.1).to_csv("p.csv", index=False)
    (tmp_path / "c.txt").write_text("cat\ndog\n")
    names = ("--id", "image", "--label-column", "kind", "--classes", "c.txt")
    plan = "p.csv: id 'image'; label 'kind'; score of class cat 'cat', dog 'dog'; no score 'loss' (no class of c.txt)"
    assert tfaudit("check", "p.csv", *names) == (0, f"{plan}\n", "")
    files = ("--labels", "p.csv", "--baseline", "p.csv", "--compressed", "p.csv", *names)
    _, _, errors = tfaudit("gate", *files, "-v", "--json", "gate.json")
    notice = "tfaudit: p.csv: 'loss' left out (no class of c.txt)"
    labels = "p.csv: id 'image'; label 'kind'; left out 'cat', 'dog', 'loss' (beside the labels)"
    lines = [labels, f"{plan} (scores of 2 classes)"]
    assert errors.splitlines() == [notice, *lines]
    verdict = json.loads((tmp_path / "gate.json").read_text())["verdicts"]["compressed"]
    assert verdict["read_as"] == lines
    tfaudit("audit", *files, "--out", "study", "--permutations", 0)
    assert open_store("study").remarks("test") == tuple(f"Columns of {line}." for line in lines)
    refused(
        tfaudit("check", "p.csv"),
        "p.csv: got columns of numbers 'cat', 'dog', 'loss' for unknown labels",
    )
    refused(
        tfaudit("check", "study", *names),
        "id: got image, expected no such option with a study's directory",
    )


def whole(store):
    """Save the tables that `make_study` leaves out, and return the store."""
    store.save_table("classes", pd.DataFrame({"class": ["a"], "train_examples": [3]}))
    for name in ("costs", "candidates", "features"):
        store.save_table(name, pd.DataFrame({"title": ["a"], "bytes": [3.0]}))
    return store


def test_a_member_that_study_json_does_not_know(check, tmp_path):
    """An older `study.json`, put back, would leave out members without a word."""
    study = whole(make_study(tmp_path)).study
    place = tmp_path / "study.json"
    older = dataclasses.replace(study, population=3, variants=study.variants[:1])
    content = read_sealed_json(place.read_bytes()) | {"study": older.to_json()}
    place.write_bytes(sealed_json(content))
    unknown = [("dense", 3), *(("int8", n) for n in range(4)), ("magnitude-0.9", 3)]
    lines = [f"{key}, member {n}: not in study.json, an older file" for key, n in unknown]
    assert check(tmp_path)[1][:-1] == lines


def test_members_of_another_study_do_not_count(check, tfaudit, tmp_path):
    """Theirs are complete, of the same examples, and of variants and members that this study has, too."""
    mine = whole(make_study(tmp_path / "mine"))
    other = dataclasses.replace(mine.study, seed=mine.study.seed + 1)
    Store.create(tmp_path / "other", other, {})
    shutil.copytree(mine.directory / "examples", tmp_path / "other/examples")
    theirs = open_store(tmp_path / "other")
    path = mine.prediction_path("int8", 1)
    theirs.save_member("int8", 1, {path: mine.read(path)}, {"seed": 1})
    place = mine.member_path("int8", 1, "member.json")
    (mine.directory / place).write_bytes(theirs.read(place))
    assert check(mine.directory) == (1, ["int8, member 1: of another study", *AGAIN])
    assert mine.members("int8") == (0, 2, 3)
    (mine.directory / "study.json").write_bytes(theirs.read("study.json"))
    assert open_store(mine.directory).variants == ("int8",)  # the other study's member
    for command in ("gate", "audit", "report"):
        code, _, said = tfaudit(command, mine.directory)
        assert (code, len(said.splitlines())) == (4 if command == "gate" else 2, 1)


@pytest.mark.parametrize("file", ["member.json", "predictions", "examples", "costs"])
@pytest.mark.parametrize("special", ["pipe", "endless"])
def test_a_pipe_or_a_device_ends_no_command_in_waiting(check, tfaudit, tmp_path, file, special):
    store = whole(make_study(tmp_path))
    paths = {
        "member.json": store.member_path("int8", 1, "member.json"),
        "predictions": store.prediction_path("int8", 1),
        "examples": store.example_path("test"),
        "costs": TABLES["costs"],
    }
    place = tmp_path / paths[file]
    place.unlink()
    os.mkfifo(place) if special == "pipe" else place.symlink_to("/dev/zero")
    code, lines = check(tmp_path)
    assert (code, len(lines) > 1) == (1, True)
    for command in ("gate", "audit"):
        code, _, said = tfaudit(command, tmp_path)
        assert code in (0, 1, 2, 4)
        assert "Traceback" not in said


@pytest.mark.parametrize(
    "kind", ["predictions/split=test/variant=int8/001.parquet", "members/int8/001/member.json"]
)
def test_every_damage_is_named_and_only_it(check, tmp_path, kind):
    store = whole(make_study(tmp_path))
    path = store.directory / kind
    content = path.read_bytes()
    reason = {"p": f"{kind} does not match its checksum", "m": "a damaged record"}[kind[0]]
    path.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    code, lines = check(tmp_path)
    assert code == 1
    assert lines[0] == f"int8, member 1: {reason}"
    assert lines[1].startswith("1 missing or damaged")
    path.unlink()
    code, lines = check(tmp_path)
    assert code == 1
    assert lines[0].startswith("int8, member 1: ")


def test_lost_evaluations_and_examples_are_named(check, tmp_path):
    store = whole(corrupted_study(tmp_path))
    condition = store.conditions[0]
    (store.directory / store.prediction_path("dense", 1, condition.split)).unlink()
    code, lines = check(tmp_path)
    assert (code, lines[0]) == (1, f"dense, member 1, {condition.title}: missing predictions")
    (store.directory / "examples/test.parquet").write_bytes(b"PAR1")
    assert "examples: got a damaged file" in " ".join(check(tmp_path)[1])


def test_a_record_copied_over_another_does_not_count(check, tmp_path):
    whole(make_study(tmp_path))
    first, second = (tmp_path / f"members/int8/00{n}/member.json" for n in (0, 1))
    second.write_bytes(first.read_bytes())
    assert check(tmp_path) == (1, ["int8, member 1: a damaged record", *AGAIN])
