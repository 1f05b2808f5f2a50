"""Exemplars as tables and as FiftyOne's data set, against the votes counted by hand."""

import io
import json

import keras
import numpy as np
import pandas as pd
import pytest
from ai_edge_litert.interpreter import Interpreter
from typer.testing import CliRunner

from tests.builders.populations import modal_sets, pies_of
from tests.builders.refusals import assert_refused
from tests.builders.studies import WRITERS, make_study
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.cli import app
from tfaudit.errors import InputError
from tfaudit.extensions.exports.exports import (
    exemplar_table,
    fiftyone_files,
    table_files,
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_study(tmp_path_factory.mktemp("export") / "study", groups=WRITERS)


@pytest.fixture(scope="module")
def study_audit(store):
    return StudyAudit.read(store, permutations=0)


def majority(predictions):
    """The names of the most frequent classes of every image, and their share."""
    counts = np.array(
        [np.bincount(votes, minlength=len(predictions.class_names)) for votes in predictions.top1.T]
    )
    names = predictions.class_names
    modes = [" or ".join(sorted(names[i] for i in modes)) for modes in modal_sets(predictions)]
    return np.array(modes, object), counts.max(1) / predictions.num_members


def test_every_image_whose_majority_prediction_changes_has_a_row(store, study_audit):
    table = exemplar_table(study_audit)
    assert list(table["variant"].unique()) == ["magnitude-0.9", "int8"]
    before, shares = majority(store.predictions("dense"))
    for key, rows in table.groupby("variant"):
        predictions = store.predictions(key)
        after, after_shares = majority(predictions)
        index = np.flatnonzero(pies_of(store.predictions("dense"), predictions))
        assert rows["index"].tolist() == index.tolist()
        assert rows["before"].tolist() == before[index].tolist()
        assert rows["after"].tolist() == after[index].tolist()
        assert rows["before_share"].to_numpy() == pytest.approx(shares[index])
        assert rows["after_share"].to_numpy() == pytest.approx(after_shares[index])
        for name in WRITERS:
            groups = WRITERS[name].iloc[index].astype(str)
            assert rows[f"group_{name}"].astype(str).tolist() == groups.tolist()
    only = exemplar_table(study_audit, ["int8"])
    pd.testing.assert_frame_equal(only, table[table["variant"] == "int8"].reset_index(drop=True))
    assert_refused(
        r"variant: got 'nope', expected magnitude-0\.9, int8", exemplar_table, study_audit, ["nope"]
    )


def test_a_change_is_told_by_the_most_frequent_classes_on_both_sides(store, study_audit):
    for key, rows in exemplar_table(study_audit).groupby("variant"):
        predictions = store.predictions(key)
        modes = modal_sets(store.predictions("dense")), modal_sets(predictions)
        kinds = [
            "newly wrong" if label in old else "newly correct" if label in new else "other wrong"
            for old, new, label in zip(*modes, predictions.labels, strict=True)
        ]
        assert rows["change"].tolist() == [kinds[i] for i in rows["index"]]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_tables_lead_to_the_pictures(store, study_audit, form):
    files = table_files(study_audit, form=form)
    content = io.BytesIO(files[f"exemplars.{form}"])
    table = pd.read_csv(content) if form == "csv" else pd.read_parquet(content)
    assert len(table) == len(exemplar_table(study_audit))
    for row in table.to_dict("records"):
        assert files[row["image"]] == store.images("test", [row["index"]])[0]


@pytest.mark.slow
def test_fiftyone_gets_a_sample_an_image_with_all_predictions(store, study_audit):
    files = fiftyone_files(study_audit)
    samples = json.loads(files["samples.json"])["samples"]
    metadata = json.loads(files["metadata.json"])
    table = exemplar_table(study_audit)
    assert [sample["filepath"] for sample in samples] == [
        f"data/{i:06}.png" for i in sorted(set(table["index"]))
    ]
    names = store.predictions("dense").class_names
    assert metadata["default_classes"] == list(names)
    assert "version" not in metadata  # else FiftyOne expects its own documents
    for sample in samples:
        position = int(sample["filepath"][5:11])
        assert files[sample["filepath"]] == store.images("test", [position])[0]
        assert sample["tags"] == table.loc[table["index"] == position, "variant"].tolist()
        assert sample["ground_truth"]["label"] == names[store.predictions("dense").labels[position]]
        for key in ("dense", "magnitude-0.9", "int8"):
            field = key.replace("-", "_").replace(".", "_")
            modes, shares = majority(store.predictions(key))
            assert sample[field]["label"] == modes[position]
            assert sample[field]["confidence"] == pytest.approx(shares[position])
            assert sample[field]["_cls"] == "Classification"
        assert sample["example"] == f"test-{position}"


def test_the_command_writes_a_new_folder_or_nothing(store, tmp_path):
    def run(*words):
        return CliRunner().invoke(app, ["export", str(store.directory), *words])

    folder = ("--out", str(tmp_path / "out"))
    done = run("--format", "parquet", *folder)
    assert done.exit_code == 0, done.output
    assert len(list((tmp_path / "out/images").glob("*.png"))) > 0
    formats = (
        "--format: got 'tsv', expected 'csv', 'parquet', 'fiftyone', 'model-explorer' or 'survey'"
    )
    for words, message in (
        (("csv", *folder), "which holds files, expected an empty or a new folder"),
        (("tsv",), formats),
        (("csv", "--data", "images"), "--data: got images, expected none with a study"),
        (("model-explorer",), "--data: got none, expected labelled images"),
    ):
        refused = run("--format", *words)
        assert isinstance(refused.exception, InputError)
        assert message in str(refused.exception)


@pytest.mark.slow
def test_model_explorer_gets_the_int8_file_and_a_value_for_its_operators(tmp_path):
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Flatten(), keras.layers.Dense(8, "relu"), keras.layers.Dense(3)]
    model = keras.Sequential([keras.Input((6, 6, 1)), *layers])
    model.save(tmp_path / "net.keras")
    x = np.random.default_rng(0).random((150, 6, 6, 1), np.float32)
    np.savez(tmp_path / "held.npz", x=x, y=np.arange(150) % 3)
    words = ["export", str(tmp_path / "net.keras"), "--format", "model-explorer"]
    done = CliRunner().invoke(app, [*words, "--data", str(tmp_path / "held.npz")])
    assert done.exit_code == 0, done.output
    folder = tmp_path / "net-model-explorer"
    content = (folder / "int8.tflite").read_bytes()
    tensors = Interpreter(model_content=content).get_tensor_details()
    assert {tensor["dtype"] for tensor in tensors} >= {np.int8}
    told = json.loads((folder / "flips.json").read_text())["main"]["results"]
    assert (
        len(told.keys() & {tensor["name"] for tensor in tensors}) == 2
    )  # one a layer with a kernel


@pytest.mark.parametrize("existed", [False, True])
def test_an_export_that_fills_the_disk_leaves_nothing_behind(store, tmp_path, monkeypatch, existed):
    folder = tmp_path / "out"
    if existed:
        folder.mkdir()
    calls = []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) > 3:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    words = ["export", str(store.directory), "--format", "csv", "--out", str(folder)]
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, InputError)
    assert "which cannot be written (No space left on device)" in str(done.exception)
    assert sorted(tmp_path.rglob("*")) == [folder] * existed
