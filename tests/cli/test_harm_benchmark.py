"""The benchmark of compression harm: entries, their file, and the page that shows them."""

import dataclasses
import functools
import json
from pathlib import Path

import keras
import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from benchmarks.harm import studies as harm_studies
from benchmarks.harm.__main__ import benchmark
from benchmarks.harm.entries import HarmBenchmark, entry
from benchmarks.harm.studies import studies
from tests.builders.accessibility import violations
from tests.builders.corrupted_studies import corrupted_study
from tests.builders.refusals import assert_refused
from tests.builders.studies import before_and_after, make_study
from tests.builders.tiny_studies import STUDY
from tfaudit import Predictions, compare, quantize
from tfaudit.audits import divergence, flip_rates
from tfaudit.cli.console import app
from tfaudit.study import Pruned

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


def test_an_entry_replaces_that_of_the_same_names(run):
    submitted(run, "a=same.npy", "b=same.npy")
    rows = submitted(run, "a=hurt.npy")
    assert (rows["a"]["accuracy_pp"], rows["b"]["accuracy_pp"]) == (-3, 0)
    assert len(rows) == 2


def test_variants_of_a_study_become_entries_with_their_corruptions(run, tmp_path):
    store = corrupted_study(tmp_path / "study")
    code, printed, _ = run("submit", "r.json", *NAMES, "--study", store.directory)
    assert code == 0
    table = HarmBenchmark.read(tmp_path / "r.json").table
    assert len(table) == len(store.study.variants)
    assert f"{len(table)} entries" in printed
    assert table["corruption_pp"].notna().any()
    assert set(table["size_is"]) == {"gzipped"}


def test_figures_of_populations_are_those_of_the_audits(tmp_path):
    before, after = before_and_after(make_study(tmp_path))
    row = entry(before, after, ("m", "d", "c"), paired=True)
    flips = flip_rates(before, after, paired=True).summary()
    assert row["negative_flips"] == pytest.approx(flips["negative_share"])
    shift = divergence(before, after, paired=True).summary()["shift"]
    assert row["shift"] == pytest.approx(shift)
    assert np.isnan(entry(before, after, ("m", "d", "c"))["shift"])  # of independent models
    assert (row["members"], row["worst_class"]) == (4, before.class_names[3])


@pytest.mark.slow
def test_model_files_become_entries(run, tmp_path):
    keras.utils.set_random_seed(0)
    x = np.random.default_rng(0).random((60, 4), np.float32)
    layers = [keras.Input((4,)), keras.layers.Dense(50, "relu"), keras.layers.Dense(2)]
    model = keras.Sequential(layers)
    model.save(tmp_path / "net.keras")
    (tmp_path / "int8.tflite").write_bytes(quantize(model, "int8", representative=x))
    np.savez(tmp_path / "d.npz", x=x, y=model.predict(x, verbose=0).argmax(1))
    files = ("--baseline", "net.keras", "--compressed", "int8.tflite", "--data", "d.npz")
    code, _, errors = run("submit", "r.json", *NAMES, *files, "--scores-are", "logits")
    assert code == 0, errors
    row = HarmBenchmark.read(tmp_path / "r.json").table.iloc[0]
    assert (row["accuracy"], row["examples"], row["size_is"]) == (1, 60, "on disk")
    assert 0 < row["size_share"] < 1
    assert row["shift"] > 0


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


@pytest.mark.parametrize(
    ("size", "message"), [("c=1", "size: got 'c'"), ("a=x", "COMPRESSOR=SHARE")]
)
def test_a_size_names_a_compressor_and_a_share(run, refused, size, message):
    files = ("--labels", "labels.npy", "--baseline", "same.npy", "--compressed", "a=same.npy")
    refused(run("submit", "r.json", *NAMES, *files, "--size", size), message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "no readable entries"),
        ("[]", "no readable entries"),
        ('{"format": 2, "entries": []}', "format 2"),
        ('{"format": 1, "entries": [{"model": "a"}]}', "entries without accuracy"),
    ],
)
def test_another_file_is_refused(tmp_path, content, message):
    (tmp_path / "r.json").write_text(content)
    assert_refused(message, HarmBenchmark.read, tmp_path / "r.json")


def test_a_file_keeps_its_entries(run, tmp_path):
    submitted(run, "a=same.npy", "b=hurt.npy")
    found = HarmBenchmark.read(tmp_path / "r.json")
    (tmp_path / "r.json").write_bytes(found.json())
    pd.testing.assert_frame_equal(HarmBenchmark.read(tmp_path / "r.json").table, found.table)


def test_harmed_classes_are_those_of_statsmodels_holm():
    draws = np.random.default_rng(0)
    predicted = np.where(draws.random(1000) < 0.9, LABELS, 0)
    worse = np.where(draws.random(1000) < 0.012 * LABELS, 9 - LABELS, predicted)
    before, after = (Predictions.from_top1(LABELS, classes) for classes in (predicted, worse))
    frame = compare(before, after).frame()
    lost = multipletests(frame["change_p"], method="holm")[0] & (frame["change_pp"] < 0)
    assert 1 < entry(before, after, ("m", "d", "c"))["harmed_classes"] == lost.sum() < 9


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
def test_entries_sort_by_a_figure_with_its_interval(shown):
    heading = shown.locator("main table").last.get_by_role("button", name="accuracy, pp")
    heading.click()
    assert {tuple(row) for row in models_shown(shown)[:2]} == {("net", "pruned"), ("other", "int8")}
    heading.click()
    assert {tuple(row) for row in models_shown(shown)[:2]} == {("net", "int8"), ("other", "pruned")}


@pytest.mark.slow
def test_the_page_breaks_no_rule_of_axe_and_fits_a_phone(shown):
    assert not violations(shown)
    shown.set_viewport_size({"width": 400, "height": 800})
    assert shown.evaluate("document.documentElement.scrollWidth") <= 400


def test_medians_are_over_models_and_count_those_that_pass(run, shown, tmp_path):
    rows = HarmBenchmark.read(tmp_path / "r.json").by_compressor().set_index("compressor")
    assert rows.loc["int8", ["models", "passes", "harming"]].tolist() == [2, 1, 1]
    assert rows.loc["int8", "accuracy_pp"] == -1.5
    assert rows.loc["int8", "size_share"] == 0.25


def test_a_class_of_one_image_counts_in_no_median(run):
    classes = np.arange(10)
    wrong = np.where(classes == 3, 4, classes)
    entries = [
        entry(Predictions.from_top1(labels, labels), Predictions.from_top1(labels, after), names)
        for labels, after, names in (
            (classes, wrong, ("photographs", "d", "int8")),
            (LABELS, np.load("hurt.npy"), ("digits", "d", "int8")),
            (classes, wrong, ("photographs", "d", "int4")),
        )
    ]
    rows = HarmBenchmark(pd.DataFrame(entries)).by_compressor().set_index("compressor")
    assert rows.loc["int8", "worst_class_pp"] == -30
    assert np.isnan(rows.loc["int4", "worst_class_pp"])


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


def test_every_network_has_the_compressors_that_it_can_take():
    assert len(studies) >= 6
    for name, study in studies.items():
        assert study.name == ("cifar10_resnet20" if name == "resnet20" else f"harm_{name}")
        assert len(study.variants) >= 8
        pruned = [variant for variant in study.variants if isinstance(variant, Pruned)]
        assert {variant.sparsity for variant in pruned} >= {0.5, 0.7, 0.9}
        for variant in pruned:
            assert not variant.remedies or variant.control in study.variants
