"""Whatever is zero in a net with every kind of joint, the outputs stay, and no channel that must go is left."""

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import layers

from tests.extensions.shrinking.silenced_nets import assert_same_outputs, lively
from tfaudit.extensions.shrinking.shrink import shrink


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(0)
    inputs = keras.Input((6, 6, 2))
    x = layers.Conv2D(4, 3, padding="same", use_bias=False, name="stem")(inputs)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    y = layers.Conv2D(4, 3, padding="same", activation="relu", name="inner")(x)
    y = layers.DepthwiseConv2D(3, padding="same", name="depthwise")(y)
    x = layers.ReLU()(layers.Add()([x, layers.Conv2D(4, 1, use_bias=False, name="outer")(y)]))
    x = layers.Concatenate()(
        [x, layers.SeparableConv2D(3, 3, padding="same", name="side")(layers.Dropout(0.5)(x))]
    )
    x = layers.Conv2D(4, 3, activation="tanh", name="late")(layers.ZeroPadding2D()(x))
    x = layers.Flatten()(layers.MaxPooling2D()(x))
    return lively(
        keras.Model(
            inputs, layers.Dense(3, name="logits")(layers.Dense(5, "relu", name="hidden")(x))
        )
    )


@pytest.mark.slow
@settings(max_examples=8, derandomize=True)
@given(
    seed=st.integers(0, 2**16), outputs=st.floats(0, 1), inputs=st.floats(0, 1), signs=st.booleans()
)
def test_random_zeros(model, seed, outputs, inputs, signs):
    rng, before = np.random.default_rng(seed), model.get_weights()
    for weight in model.weights:
        if weight.name.endswith("kernel") and "logits" not in weight.path:
            values = rng.normal(size=weight.shape)
            values[..., rng.random(weight.shape[-1]) < outputs] = 0
            values[..., rng.random(weight.shape[-2]) < inputs, :] = 0
            weight.assign(values)
        if weight.name == "beta" and signs:  # which makes ReLU leave zeros
            weight.assign(-np.abs(weight.numpy()))
    try:
        result = shrink(model)
        assert_same_outputs(model, result.model)
        assert shrink(result.model).summary()["ratio"] == 1
        frame = result.frame()
        assert (frame["channels_after"] >= 1).all()
        assert (frame["channels_after"] <= frame["channels_before"]).all()
        assert (frame["why"] != "")[frame["idle"] > 0].all()
    finally:
        model.set_weights(before)
