"""`tfaudit cost` of a study: the first member of every variant, its figures printed and kept."""

import keras
import pytest

from tfaudit import Quantized, Study, Training, quantize
from tfaudit.cli import main
from tfaudit.errors import InputError
from tfaudit.store.store import Store


@pytest.fixture
def store(tmp_path):
    """A study of a dense layer of 30 weights, members 1 and 2 of each variant, and no member 0."""
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(10)])
    model.save(tmp_path / "dense.keras")
    study = Study(
        name="s",
        dataset="d",
        model="m",
        training=Training(epochs=1),
        variants=(Quantized("float32"),),
    )
    store = Store.create(tmp_path / "study", study, {})
    files = {"dense": ("model.keras", (tmp_path / "dense.keras").read_bytes())}
    files["float32"] = ("model.tflite", quantize(model, "float32"))
    for key, (name, content) in files.items():
        for member in (1, 2):
            store.save_member(key, member, {store.member_path(key, member, name): content}, {})
    return store


def run(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["tfaudit", "cost", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        main()
    return left.value.code or 0


@pytest.mark.slow
def test_the_figures_of_a_study_are_printed_and_kept(store, monkeypatch, capsys):
    assert run(monkeypatch, store.directory, "--repeats", 0) == 0
    printed = capsys.readouterr().out
    assert "dense" in printed
    assert "–" in printed  # the latency that was not measured
    table = store.table("costs")
    assert table["variant"].tolist() == ["dense", "float32"]
    assert table["parameters"][0] == 30
    (store.directory / "costs.parquet").unlink()
    again = Store.create(
        store.directory, store.study, {}
    )  # as a run that goes on does: the lost table is not forgotten
    with pytest.raises(
        InputError,
        match=r"costs: got a missing file, .*costs.parquet, expected .* `tfaudit cost .*`",
    ):
        again.table("costs")


def test_members_without_a_model_are_named(store, monkeypatch, capsys):
    (store.directory / "members/float32/001/model.tflite").unlink()
    assert run(monkeypatch, store.directory) == 2
    assert "members/float32/001, which holds no model" in capsys.readouterr().err
