"""`tfaudit compress` as a user meets it: a file and a folder, what is printed, exit codes, the gate's own verdict."""

import json
import shlex
from unittest import mock

import keras
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from tests.builders.kinds import only_kinds
from tests.builders.refusals import assert_refused, refused_lines
from tfaudit.compress.counts import counts
from tfaudit.compress.litert.operators import float_operators
from tfaudit.extensions.search import search_report
from tfaudit.extensions.search.command import seconds_of
from tfaudit.study.quantization import KINDS

INT8 = KINDS["int8"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Images of two classes, dark and light, and a model that tells them apart by their mean."""
    place, draws = tmp_path_factory.mktemp("compress"), np.random.default_rng(0)
    for name, level in (("dark", 60), ("light", 190)):
        (place / "images" / name).mkdir(parents=True)
        for i in range(60):
            pixels = (level + draws.normal(0, 20, (4, 4, 3))).clip(0, 255).astype("uint8")
            Image.fromarray(pixels).save(place / "images" / name / f"{i}.png")
    scale = keras.layers.Rescaling(1 / 255)
    model = keras.Sequential(
        [keras.Input((4, 4, 3)), scale, keras.layers.Flatten(), keras.layers.Dense(2)]
    )
    model.layers[-1].set_weights([np.outer(np.ones(48), [-1, 1]) / 48, np.array([0.5, -0.5])])
    model.save(place / "net.keras")
    (place / "gate.toml").write_text("[gate]\noverall_drop_pp = 10\nworst_class_drop_pp = 15\n")
    (place / "tight.toml").write_text("[gate]\nworst_class_drop_pp = 0.1\n")
    (place / "small.toml").write_text("[gate]\nsize_bytes = 100\n")
    return place


@pytest.fixture
def run(place, tfaudit_in):
    """Runs a command in the place with two kinds; gives exit code, stdout, stderr."""
    with only_kinds("float32", "dynamic_range"):
        yield tfaudit_in(place, width=120)


@pytest.mark.slow
def test_the_file_passes_and_the_gate_says_the_same_of_it(run, place, refused):
    searched = "compress", "net.keras", "--data", "images", "--gate", "gate.toml", "--out", "out"
    with mock.patch("keras.saving.load_model", wraps=keras.saving.load_model) as opened:
        code, text, errors = run(*searched)
    assert (code, errors) == (0, "")
    assert opened.call_count == 1
    assert "Candidates on the 60 examples of the selection part" in text
    assert "file: out/model.tflite" in text
    sources = ["--baseline", "net.keras", "--compressed", "out/model.tflite", "--data", "images"]
    assert "The verdict, on 60 of the 120 examples: all but those that calibrate int8:" in text
    level = ("--alpha", "0.0225")
    settings = ("--config", "gate.toml", "--examples", "out/judged.csv", "--json", "gate.json")
    assert run("gate", *sources, *settings, *level)[0] == 0
    judged = (place / "out/judged.csv").read_text()
    header, first, second, *rest = judged.splitlines()
    names, contents = zip(*(line.rsplit(",", 1) for line in (first, second)), strict=True)
    moved = [f"{names[0]},{contents[1]}", f"{names[1]},{contents[0]}"]
    (place / "moved.csv").write_text("\n".join([header, *moved, *rest]))
    refused(
        run("gate", *sources, "--config", "gate.toml", "--examples", "moved.csv"),
        "examples: got examples with other inputs or labels than moved.csv was written for",
    )
    (of_gate,) = json.loads((place / "gate.json").read_text())["verdicts"].values()
    (of_search,) = json.loads((place / "out/verdict.json").read_text())["verdicts"].values()
    assert {**of_gate, "notes": []} == {**of_search, "notes": []}
    other = ("--gate", "tight.toml", "--out", "out")
    refused(
        run("compress", "net.keras", "--data", "images", *other),
        "out: got out, the directory of a search that differs in its limits, expected",
    )


def test_a_table_of_groups_judges_files_too(run, place, monkeypatch, refused):
    monkeypatch.setattr(search_report, "write_report", lambda *_, **__: None)
    ids = [f"{name}/{i}.png" for name in ("dark", "light") for i in range(60)]
    cameras = pd.DataFrame({"example": ids, "camera": ["a", "b"] * 60})
    cameras.to_csv(place / "cameras.csv", index=False)
    words = ("compress", "net.keras", "--data", "images", "--max-group-drop")
    assert run(*words, 40, "--groups", "cameras.csv", "--out", "grouped")[0] == 0
    verdicts = json.loads((place / "grouped/verdict.json").read_text())["verdicts"]
    (verdict,) = verdicts.values()
    assert [row["group"] for row in verdict["groups"]] == ["camera: a", "camera: b"]
    refused(run(*words, 40), "groups: got none, expected --groups TABLE, as groups are limited")
    others = (*words[:-1], "--groups", "cameras.csv")
    refused(run(*others), "--groups: got cameras.csv, expected no such option without --max-group")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limits", "code", "words", "command"),
    [
        (
            ("--max-worst-class-drop", ".1"),
            2,
            "examples of each class judge",
            "tfaudit plan out2 --variant {} --max-worst-class-drop 0.1 --alpha 0.0225",
        ),
        (
            ("--gate", "small.toml"),
            1,
            "Size on disk: ",
            "tfaudit compress net.keras --data images --gate small.toml --train TRAINING_DATA --out out1-trained",
        ),
    ],
)
def test_exit_codes_and_what_would_be_needed(run, place, monkeypatch, limits, code, words, command):
    monkeypatch.setattr(search_report, "write_report", lambda *_, **__: None)
    out = f"out{code}"
    found, text, errors = run("compress", "net.keras", "--out", out, "--data", "images", *limits)
    assert (found, errors) == (code, "")
    assert words in text
    assert "No candidate passes" in text
    assert not (place / out / "model.tflite").exists()
    (given,) = [line.partition(": ")[2] for line in text.splitlines() if line.startswith("next, ")]
    title = shlex.split(given)[4]
    assert given == command.format(title)
    if code == 2:
        found, text, errors = run(*shlex.split(given)[1:])
        assert (found, errors) == (0, "")
        assert "drop of worst class at most 0.1 pp" in text


@pytest.mark.slow
def test_a_full_integer_file_is_made_judged_and_counted(run, place, monkeypatch):
    monkeypatch.setattr(search_report, "write_report", lambda *_, **__: None)
    out = ("--gate", "gate.toml", "--out", "whole", "--full-integer", "--kernels", "reference")
    with mock.patch.dict(
        KINDS.core, int8=INT8
    ):  # ends before the kinds of `run`, unlike monkeypatch
        code, text, errors = run("compress", "net.keras", "--data", "images", *out)
    assert (code, errors, "float32" in text) == (0, "", False)
    assert "Files are judged with reference kernels. They predict another class" in " ".join(
        text.split()
    )
    file = "whole/model.tflite"
    assert not float_operators((place / file).read_bytes())
    sources = ("--baseline", "net.keras", "--compressed", file, "--data", "images")
    assert run("gate", *sources, "--config", "gate.toml")[0] == 0
    assert counts(place / file).parameters == 99  # 48 x 2 weights, 2 biases and the scale


@refused_lines("""
    net.tflite
        model: got 'net.tflite', expected a .keras file
    none.keras
        model: got none.keras, which does not exist
    net.keras --data nowhere
        expected
    net.keras --gate none.toml
        --gate: got none.toml, which cannot be read
    net.keras --budget soon
        --budget: got 'soon', expected a time above 0
    net.keras --kernels fast
        --kernels: got 'fast', expected 'default', 'plain' or 'reference'
    net.keras --held-out 0
        --held-out: got 0.0, expected a share in (0, 1)
    net.keras --epochs 0
        epochs: got 0, expected 1 or more
    net.keras --train gone.npz
        gone.npz
""")
def test_bad_input_is_one_line(run, place, refused, words, message):
    refused(run("compress", "--data", "images", *words, "--out", "bad"), message)
    assert not (place / "bad/candidates.csv").exists()


def test_durations():
    assert [seconds_of(text) for text in ("90s", "30m", "1h30m", "1.5h")] == [90, 1800, 5400, 5400]
    for text in ("", "30", "m", "0s", "-5m", "nat"):
        assert_refused("--budget", seconds_of, text)
