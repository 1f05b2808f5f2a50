"""quantize(sparse=True): equal answers in fewer bytes, or a refusal."""

import keras
import numpy as np
import pytest
from keras import layers
from numpy.testing import assert_allclose

from tests.builders.nightly import first_and_nightly
from tfaudit.compress.litert.conversion_error import ConversionError
from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.compress.litert.quantize import quantize
from tfaudit.compress.litert.tensorflow_lite import TensorFlowLite
from tfaudit.compress.pruning.one_shot import prune

IMAGES = np.random.default_rng(0).random((8, 64), np.float32)


def net(sparsity, block=1):
    keras.utils.set_random_seed(0)
    stack = [keras.Input((64,)), layers.Dense(128, name="hidden"), layers.Dense(4, name="logits")]
    model = keras.Sequential(stack, name="net")
    kernel = model.get_layer("hidden").kernel
    if block > 1:  # along the inputs of a unit
        keep = np.random.default_rng(0).random((64 // block, 128)) >= sparsity
        kernel.assign(kernel.numpy() * keep.repeat(block, axis=0))
    elif sparsity:
        prune(model, sparsity, layers="hidden")
    return model


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "block"), first_and_nightly([("float32", 4), ("float32", 1), ("float16", 1)])
)
def test_equal_answers_in_fewer_bytes(kind, block):
    model = net(0.9, block)
    dense, sparse = (quantize(model, kind, sparse=sparse) for sparse in (False, True))
    assert_allclose(Flatbuffer(sparse)(IMAGES), Flatbuffer(dense)(IMAGES), rtol=1e-5, atol=1e-6)
    assert len(sparse) < 0.5 * len(dense)


@pytest.mark.slow
def test_few_zeros_change_nothing():
    model = net(0.25)
    dense, sparse = (quantize(model, "float32", sparse=sparse) for sparse in (False, True))
    assert abs(len(sparse) - len(dense)) < 100
    assert (Flatbuffer(sparse)(IMAGES) == Flatbuffer(dense)(IMAGES)).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dynamic_range", "int8"])
def test_integer_kernels_are_refused(kind):
    with pytest.raises(
        ConversionError,
        match=f"sparse: got True for kind '{kind}', .* does not run .*expected False",
    ):
        quantize(net(0.9), kind, representative=IMAGES, sparse=True)


@pytest.mark.slow
def test_sparse_answers_that_differ_are_refused(monkeypatch):
    model, other = net(0.9), quantize(net(0.5), "float32")
    made = TensorFlowLite.file
    monkeypatch.setattr(
        TensorFlowLite,
        "file",
        lambda self, settings, types: other if settings.sparse else made(self, settings, types),
    )
    with pytest.raises(
        ConversionError,
        match=r"sparse: got True for kind 'float32', .* differ from the dense ones by up to",
    ):
        quantize(model, "float32", sparse=True)


@pytest.mark.slow
def test_blocks_of_half_floats_are_wrong_in_litert_and_refused():
    with pytest.raises(ConversionError, match="sparse: got True for kind 'float16'"):
        quantize(net(0.9, block=4), "float16", sparse=True)


@pytest.mark.slow
def test_a_network_that_litert_prepares_late_is_refused_too():
    """Where the batch is open up to a reshape, LiteRT meets the kernels behind it only when it runs."""
    inputs = keras.Input((8, 8, 2))
    maps = layers.Flatten()(layers.MaxPooling2D()(layers.Conv2D(4, 3, padding="same")(inputs)))
    model = keras.Model(inputs, layers.Dense(16)(maps))
    prune(model, 0.9)
    with pytest.raises(ConversionError, match=r"sparse: got True for kind 'int8', .* does not run"):
        quantize(model, "int8", representative=np.ones((2, 8, 8, 2), np.float32), sparse=True)
