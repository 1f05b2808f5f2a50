"""`tfaudit cost` of a study: the first member of every variant, its figures printed and kept."""

import keras
import pytest

from tfaudit import Quantized, Study, Training, quantize
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


@pytest.mark.slow
def test_the_figures_of_a_study_are_printed_and_kept(store, tfaudit):
    code, printed, _ = tfaudit("cost", store.directory, "--repeats", 0)
    assert code == 0
    assert "dense" in printed
    assert "–" in printed  # the latency that was not measured
    table = store.table("costs")
    assert table["variant"].tolist() == ["dense", "float32"]
    assert table["parameters"][0] == 30
    (store.directory / "costs.parquet").unlink()
    # As a run that goes on does: the lost table is not forgotten.
    again = Store.create(store.directory, store.study, {})
    lost = r"costs: got a missing file, .*costs.parquet, expected .* `tfaudit cost .*`"
    with pytest.raises(InputError, match=lost):
        again.table("costs")


def test_files_that_cannot_be_used_are_named_and_the_others_measured(store, tfaudit, tmp_path):
    good = store.directory / "members/float32/001/model.tflite"
    (tmp_path / "folder.tflite").mkdir()
    (tmp_path / "bad.tflite").write_bytes(b"bad")
    words = (good, "gone.tflite", "folder.tflite", "bad.tflite", "net.h5", "--repeats", 0)
    code, printed, errors = tfaudit("cost", *words)
    assert code == 2
    assert "model" in printed
    names = [line.partition(": ")[2].partition(":")[0] for line in errors.splitlines()]
    assert names == ["gone.tflite", "folder.tflite", "bad.tflite", "net.h5"]
