"""The benchmark of compression harm: entries, their file, and the page that shows them."""

import dataclasses
import functools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.harm import studies as harm_studies
from benchmarks.harm.__main__ import benchmark
from benchmarks.harm.entries import HarmBenchmark
from tests.builders.tiny_studies import STUDY
from tfaudit import Predictions, compare
from tfaudit.cli.console import app

NAMES = ("--model", "net", "--data-name", "test", "--command", "by hand")
LABELS = np.arange(1000) % 10


@pytest.fixture
def run(tmp_path, tfaudit, monkeypatch):
    """Runs the benchmark's commands where there are predictions: `hurt` loses 30 of the 100 examples of class 3."""
    np.save(tmp_path / "labels.npy", LABELS)
    np.save(tmp_path / "same.npy", LABELS)
    np.save(tmp_path / "hurt.npy", np.where((LABELS == 3) & (np.arange(1000) < 300), 4, LABELS))
    monkeypatch.setattr(app, "registered_groups", [])
    app.add_typer(benchmark, name="harm")
    return functools.partial(tfaudit, "harm")


def submitted(run, *words):
    """Submit predictions and return the entries by compressor."""
    files = ("--labels", "labels.npy", "--baseline", "same.npy", "--compressed", *words)
    code, _, errors = run("submit", "r.json", *NAMES, *files)
    assert code == 0, errors
    rows = json.loads(Path("r.json").read_text())["entries"]
    return {row["compressor"]: row for row in rows}


def test_predictions_of_any_framework_become_entries(run):
    rows = submitted(run, "a=same.npy", "b=hurt.npy", "--size", "b=0.25")
    hurt = rows["b"]
    whole = compare(
        Predictions.from_top1(LABELS, LABELS), Predictions.from_top1(LABELS, np.load("hurt.npy"))
    ).summary()
    assert hurt["accuracy_pp"] == pytest.approx(whole["change_pp"]) == -3
    assert hurt["accuracy_low_pp"] == pytest.approx(whole["change_low_pp"], abs=1e-4)
    assert (hurt["worst_class"], hurt["worst_class_pp"], hurt["harmed_classes"]) == ("3", -30, 1)
    assert (hurt["negative_flips"], hurt["ties"], hurt["outcome"]) == (0.03, 0, "fail")
    assert (hurt["size_share"], rows["a"]["size_share"]) == (0.25, None)
    assert (hurt["shift"], hurt["worst_corruption"]) == (
        None,
        "",
    )  # no probabilities, no corruption
    assert (rows["a"]["harmed_classes"], rows["a"]["outcome"]) == (0, "pass")


@pytest.mark.nightly
def test_the_benchmark_runs_its_studies_and_goes_on(run, tmp_path, monkeypatch):
    tiny = dataclasses.replace(STUDY, name="harm_tiny", population=2)
    monkeypatch.setattr(harm_studies, "studies", {"tiny": tiny})
    code, _, errors = run("run", "harm", "--workers", 1)
    assert code == 0, errors
    found = HarmBenchmark.read(tmp_path / "harm" / "results.json").table
    assert list(found["compressor"]) == ["magnitude 50 %", "fixed-point int8"]
    assert set(found["command"]) == {"python -m benchmarks.harm run harm --network tiny"}
    assert (tmp_path / "harm" / "benchmark.html").is_file()
    (tmp_path / "harm" / "results.json").unlink()
    assert run("run", "harm")[0] == 0  # nothing is trained again
    again = HarmBenchmark.read(tmp_path / "harm" / "results.json").table
    pd.testing.assert_frame_equal(again, found)
