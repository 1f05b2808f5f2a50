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
from tests.builders.accessibility import violations
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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("submit", "r.json", *NAMES), "source: got none, or several"),
        (("submit", "r.json", *NAMES, "--baseline", "same.npy"), "source: got none, or several"),
        (("page", "r.json"), "results: got r.json, which does not exist"),
        (("run", "d", "--network", "x"), "network: got 'x', expected 'digits'"),
    ],
)
def test_bad_input_is_refused_in_one_line(run, refused, words, message):
    refused(run(*words), message)


@pytest.fixture
def shown(run, browser, tmp_path):
    """The page of four entries of two models, in a browser."""
    submitted(run, "int8=same.npy", "pruned=hurt.npy", "--size", "int8=0.25")
    files = ("--labels", "labels.npy", "--baseline", "same.npy", "--compressed")
    names = ("--model", "other", *NAMES[2:])
    assert run("submit", "r.json", *names, *files, "int8=hurt.npy", "pruned=same.npy")[0] == 0
    code, printed, _ = run("page", "r.json")
    assert code == 0
    assert "benchmark.html" in printed
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    problems = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto((tmp_path / "benchmark.html").as_uri())
    yield page
    assert not problems
    page.close()


def models_shown(page):
    table = page.locator("main table").last
    rows = table.locator("tbody tr:visible")
    return [row.split("\t")[:2] for row in rows.all_inner_texts()]


@pytest.mark.slow
def test_entries_are_filtered_by_words(shown):
    assert len(models_shown(shown)) == 4
    shown.get_by_label("Show entries with").fill("PRUNED fail")
    assert models_shown(shown) == [["net", "pruned"]]
    assert shown.locator("#found").inner_text() == "1 of 4 entries"
    shown.get_by_label("Show entries with").fill("")
    assert len(models_shown(shown)) == 4


@pytest.mark.slow
def test_the_page_breaks_no_rule_of_axe_and_fits_a_phone(shown):
    assert not violations(shown)
    shown.set_viewport_size({"width": 400, "height": 800})
    assert shown.evaluate("document.documentElement.scrollWidth") <= 400


@pytest.mark.slow
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
