"""counts: the same figures from a model, its file and its flatbuffer."""

import keras
import numpy as np
import pytest
from keras import layers

from tests.builders.refusals import assert_refused
from tests.builders.stacks import stack
from tfaudit.compress.counts import counts
from tfaudit.compress.litert.quantize import quantize
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.compress.pruning.sparsity import sparsity


@pytest.fixture(scope="module")
def model():
    inputs = keras.Input((8, 8, 1))
    x = layers.BatchNormalization()(layers.Conv2D(6, 3, bias_initializer="ones")(inputs))
    model = keras.Model(
        inputs, layers.Dense(3, bias_initializer="ones")(layers.Flatten()(x)), name="net"
    )
    prune(model, 0.5)
    return model


def test_a_keras_model_and_its_file(model, tmp_path):
    found = counts(model)
    kernels = sparsity(model).set_index("kernel").loc["total: kernels"]
    assert (found.parameters, found.prunable, found.zeros) == (
        735,
        kernels["parameters"],
        kernels["zeros"],
    )
    assert found.sparsity == kernels["sparsity"] == 0.5
    assert found.flops == 2 * found.effective_flops == 2 * (36 * 54 + 216 * 3)
    model.save(tmp_path / "model.keras")
    assert counts(tmp_path / "model.keras") == counts(str(tmp_path / "model.keras")) == found
    assert list(found.summary()) == [
        "parameters",
        "prunable",
        "zeros",
        "sparsity",
        "flops",
        "effective_flops",
    ]


def test_a_flatbuffer_has_normalisation_folded_in(model, tmp_path):
    found, expected = counts(content := quantize(model, "float32")), counts(model)
    assert expected.parameters - found.parameters == 4 * 6
    for name in ("prunable", "zeros", "flops", "effective_flops", "notes"):
        assert getattr(found, name) == getattr(expected, name)
    (tmp_path / "model.tflite").write_bytes(content)
    assert counts(tmp_path / "model.tflite") == counts(memoryview(content)) == found


@pytest.mark.slow
def test_notes_say_that_sparse_storage_is_no_speed(model):
    (note,) = counts(quantize(model, "float32", sparse=True)).notes
    assert note.startswith("2 kernels are stored without their zeros")
    assert "not faster" in note


def test_loops_make_flops_unknown_with_a_lower_bound():
    inputs = keras.Input((4, 3))
    memory = layers.GRU(2, name="memory")(inputs)
    outputs = layers.Dense(5)(memory)
    found = counts(keras.Model(inputs, outputs))
    (note,) = found.notes
    assert "a lower bound of 80 leaves out " in note
    assert "memory" in note
    assert np.isnan([found.flops, found.effective_flops]).all()
    assert found.counted_flops == 80  # of one step of the loop and of the dense layer

    class Loop(layers.Layer):
        def call(self, images):
            return keras.ops.fori_loop(
                0, keras.ops.shape(images)[0], lambda _, state: state + 1.0, images
            )

    found = counts(keras.Model(inputs, Loop()(inputs)))
    assert np.isnan([found.flops, found.effective_flops]).all()
    assert found.sparsity == 0


@pytest.mark.parametrize("changed", ["int8", "int4", "float8", "bfloat16"])
def test_weights_that_keras_packs_are_counted_one_by_one(changed, tmp_path):
    floating = changed == "bfloat16"
    dtype = changed if floating else None
    hidden = [layers.Dense(units, dtype=dtype) for units in (64, 64, 3)]
    model = stack((8,), *hidden)
    for layer in () if floating else hidden:
        layer.quantize(changed)
    found = counts(model)
    assert (found.parameters, found.prunable) == (4931, 4800)
    assert found.flops == 2 * 4800
    model.save(tmp_path / "model.keras")
    assert counts(tmp_path / "model.keras").summary() == found.summary()
    packed = ["zeros are not counted in seque"] if changed == "int4" else []
    assert [note[:30] for note in found.notes] == packed


def test_bytes_that_are_no_flatbuffer_are_refused():
    assert_refused("model: got 4 bytes that LiteRT cannot run", counts, b"none")
