"""cost and measure_variants: one row per model, and the real study's variants."""

import gzip
import zlib

import keras
import numpy as np
import pytest
from keras import layers

from tests.builders.refusals import assert_refused
from tfaudit.compress.counts import counts
from tfaudit.compress.litert.quantize import quantize
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.extensions.costs.cost import cost, measure_variants


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(0)
    inputs = keras.Input((8, 8, 1))
    x = layers.Flatten()(layers.Conv2D(8, 3, activation="relu")(inputs))
    return keras.Model(inputs, layers.Dense(32)(x), name="net")


@pytest.mark.slow
def test_a_keras_model_costs_what_its_float32_flatbuffer_does(model):
    content = quantize(model, "float32")
    found = cost(model, repeats=2)
    assert found.counts == counts(model)
    assert (found.bytes, found.notes) == (len(content), ())
    assert found.gzipped_bytes == pytest.approx(len(zlib.compress(content, 6)), abs=20)
    assert len(gzip.compress(content)) < len(content) * 1.01
    assert found.latency["batch"].tolist() == [1, 32]
    assert cost(content, repeats=0).bytes == found.bytes


@pytest.mark.slow
def test_what_is_not_measured_is_nan_and_none(model):
    found = cost(model, repeats=0)
    assert found.latency.empty
    assert np.isnan(found.frame()["latency_32_ms"][0])
    assert found.summary()["latency_32_ms"] is None
    assert list(found.frame()) == list(cost(model, repeats=1).frame())


@pytest.mark.slow
def test_a_model_without_a_flatbuffer_has_the_bytes_of_its_weights_and_no_latency(model):
    quantized = keras.models.clone_model(model)
    quantized.layers[-1].quantize("int8")
    found = measure_variants({"int8": quantized, "float32": model}, repeats=1).set_index("variant")
    counted = found["parameters"]
    assert counted["int8"] == counted["float32"]
    # the convolution stays in float; of the dense layer kernel, biases and scales are stored
    assert found["bytes"]["int8"] == 4 * (9 * 8 + 8) + 6 * 6 * 8 * 32 + 4 * 2 * 32
    assert np.isnan(found["latency_1_ms"]["int8"])
    assert found["latency_1_ms"]["float32"] > 0
    assert found["latency_1_ratio"].isna().all()
    assert "TensorFlow Lite cannot convert" in found["notes"]["int8"]
    assert found["notes"]["float32"] == ""


@pytest.mark.slow
def test_zeros_shrink_the_download_and_sparse_storage_the_file(model):
    keras.utils.set_random_seed(0)
    pruned = keras.models.clone_model(model)
    prune(pruned, 0.9)
    variants = {
        "dense": model,
        "pruned": pruned,
        "sparse": quantize(pruned, "float32", sparse=True),
    }
    table = measure_variants(variants, repeats=0).set_index("variant")
    assert table["bytes"]["dense"] == table["bytes"]["pruned"] > 3 * table["bytes"]["sparse"]
    assert table["gzipped_bytes"]["pruned"] < 0.3 * table["gzipped_bytes"]["dense"]
    assert table["flops"].nunique() == 1
    assert (
        table["effective_flops"]["sparse"]
        == table["effective_flops"]["pruned"]
        < 0.11 * table["flops"]["dense"]
    )


@pytest.mark.slow
def test_variants_are_a_row_each_with_ratios_to_the_first(model, tmp_path):
    model.save(tmp_path / "model.keras")
    (tmp_path / "model.tflite").write_bytes(
        quantize(model, "int8", representative=np.ones((4, 8, 8, 1)))
    )
    table = measure_variants(
        {"dense": tmp_path / "model.keras", "int8": tmp_path / "model.tflite"}, repeats=2
    )
    assert table["variant"].tolist() == ["dense", "int8"]
    assert list(table)[1:-3] == list(cost(model, repeats=0).frame())
    assert table["latency_1_ratio"][0] == table["latency_32_ratio"][0] == 1
    assert table["latency_32_ratio"][1] > 0
    assert table["bytes"][1] < 0.5 * table["bytes"][0]


def test_errors(model):
    unfit = np.zeros((2, 5, 5, 1))
    assert_refused(r"got shape \(2, 5, 5, 1\), expected \(N, 8, 8", cost, model, images=unfit)
    assert_refused("repeats: got -1, expected a whole number", cost, model, repeats=-1)
    assert_refused(r"models: got {}, expected one model or more", measure_variants, {})
