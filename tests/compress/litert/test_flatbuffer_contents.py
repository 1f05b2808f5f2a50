"""What flatbuffers hold, beside the Keras models they come from."""

import keras
import numpy as np
import pytest
from keras import layers

from tests.builders.kinds import INSTALLED
from tests.builders.stacks import stack
from tfaudit.compress.keras_operations import keras_operations
from tfaudit.compress.litert.flatbuffer_contents import read_flatbuffer
from tfaudit.compress.litert.quantize import quantize
from tfaudit.compress.pruning.one_shot import prune

IMAGES = np.random.default_rng(0).random((8, 8, 8, 3), np.float32)


def convnet():
    """Most kinds of operators, no two constants alike, and a Dense layer on maps: its rows depend on the batch."""
    keras.utils.set_random_seed(0)
    settings = {"bias_initializer": "random_normal"}
    inputs = keras.Input((8, 8, 3))
    x = layers.Conv2D(8, 3, **settings)(inputs)
    x = layers.DepthwiseConv2D(3, **settings)(x)
    x = layers.Conv2DTranspose(6, 3, strides=2, use_bias=False)(x)
    x = layers.Dense(5, **settings)(x)
    return keras.Model(inputs, layers.Dense(4, **settings)(layers.Flatten()(x)), name="net")


@pytest.fixture(scope="module")
def model():
    return convnet()


@pytest.mark.slow
@pytest.mark.parametrize("kind", INSTALLED)
def test_equal_to_the_keras_model_in_every_kind(model, kind):
    contents, expected = (
        read_flatbuffer(quantize(model, kind, representative=IMAGES)),
        keras_operations(model),
    )
    assert [each.macs for each in contents.operations.counted] == [
        each.macs for each in expected.counted
    ]
    assert contents.parameters == model.count_params()
    assert contents.prunable == sum(w.size for w in model.get_weights() if w.ndim > 1)
    # integers round a few to zero
    assert contents.zeros < (0.1 if kind == "int4" else 0.02) * contents.prunable
    assert kind not in ("float32", "float16") or contents.zeros == 0
    assert contents.notes == () == contents.sparse == contents.operations.uncounted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "sparse"), [("float32", False), ("int8", False), ("float32", True), ("float16", True)]
)
def test_zeros_are_counted_however_they_are_stored(kind, sparse):
    keras.utils.set_random_seed(0)
    model = stack((8, 8, 3), layers.Conv2D(8, 3), layers.Flatten(), layers.Dense(4))
    prune(model, 0.9)
    contents = read_flatbuffer(quantize(model, kind, representative=IMAGES, sparse=sparse))
    expected, pruned = (
        keras_operations(model),
        sum(int((w == 0).sum()) for w in model.get_weights() if w.ndim > 1),
    )
    if kind == "int8":  # rounding makes a few more
        assert pruned <= contents.zeros <= 1.01 * pruned
        assert (
            0.9 * expected.effective_flops
            < contents.operations.effective_flops
            <= expected.effective_flops
        )
    else:
        assert (contents.zeros, contents.operations.effective_flops) == (
            pruned,
            expected.effective_flops,
        )
    assert contents.operations.flops == expected.flops
    assert len(contents.sparse) == 2 * sparse


@pytest.mark.slow
def test_products_are_of_one_image_whatever_the_batch_and_the_sides():
    fixed = keras.Input(batch_shape=(4, 8, 8, 3))
    open_sides = keras.Input((None, None, 3))
    conv = layers.Conv2D(2, 3, padding="same")
    for inputs, pixels in ((fixed, 8 * 8), (open_sides, 64 * 64)):
        contents = read_flatbuffer(quantize(keras.Model(inputs, conv(inputs)), "float32"))
        assert contents.operations.flops == 2 * pixels * 2 * 9 * 3


@pytest.mark.slow
def test_solids_and_attention_too():
    solid = stack((4, 4, 4, 2), layers.Conv3D(3, 2), layers.Conv3DTranspose(2, 2))
    inputs = keras.Input((5, 8))
    attention = keras.Model(inputs, layers.MultiHeadAttention(2, 3)(inputs, inputs))
    for model in (solid, attention):
        assert (
            read_flatbuffer(quantize(model, "float32")).operations.flops
            == keras_operations(model).flops
        )
