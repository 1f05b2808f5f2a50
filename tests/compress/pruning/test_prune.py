"""`prune`: one shot, in place."""

import keras
import pytest

from tests.builders.refusals import assert_refused
from tests.builders.stacks import stack
from tfaudit.compress.pruning.kernels import find_kernels
from tfaudit.compress.pruning.one_shot import prune


def every_kind():
    keras.utils.set_random_seed(0)
    inputs = keras.Input((12, 12, 4))
    x = keras.layers.Conv2D(6, 3, name="conv")(inputs)
    x = keras.layers.DepthwiseConv2D(3, name="depthwise")(x)
    x = keras.layers.SeparableConv2D(6, 3, name="separable")(x)
    x = keras.layers.Conv2DTranspose(5, 3, name="transpose")(x)
    x = keras.layers.BatchNormalization(name="norm")(x)
    x = keras.layers.Reshape((64, 5))(x)
    x = keras.layers.EinsumDense("abc,cd->abd", (64, 7), bias_axes="d", name="einsum")(x)
    x = keras.layers.Conv1D(6, 3, name="conv1d")(x)
    x = keras.layers.Bidirectional(keras.layers.LSTM(3, name="lstm"), name="both")(x)
    tail = stack((6,), keras.layers.Dense(4, name="logits"), name="tail")
    return keras.Model(inputs, tail(x))


def test_what_is_prunable():
    names = list(find_kernels(every_kind()))
    assert [name for name in names if not name.startswith("both")] == [
        "conv/kernel",
        "depthwise/kernel",
        "separable/depthwise_kernel",
        "separable/pointwise_kernel",
        "transpose/kernel",
        "einsum/kernel",
        "conv1d/kernel",
        "tail/logits/kernel",
    ]
    assert (
        sum(name.startswith("both") for name in names) == 4
    )  # two directions, each kernel and recurrent_kernel
    assert find_kernels(stack((3,), keras.layers.Embedding(5, 2))) == {}


def test_layers_are_chosen_by_name_by_object_and_by_nested_model():
    model = every_kind()
    chosen = prune(model, 0.5, layers=["tail", model.get_layer("conv"), "separable"])
    expected = [
        "conv/kernel",
        "separable/depthwise_kernel",
        "separable/pointwise_kernel",
        "tail/logits/kernel",
    ]
    assert list(chosen) == expected
    assert list(prune(model, 0.5, layers="logits")) == ["tail/logits/kernel"]
    assert_refused(
        r"layers: got 'other', expected layers of .* with a kernel: 'backward_lstm', 'both', 'conv'",
        prune,
        model,
        0.5,
        layers=[keras.layers.Dense(3, name="other")],
    )
    assert_refused(
        r"layers: got 'norm', expected layers of .* with a kernel",
        prune,
        model,
        0.5,
        layers=["norm"],
    )


def test_layers_of_one_name_in_two_places_are_told_apart():
    def block():
        inputs = keras.Input((3,))
        return keras.Model(inputs, keras.layers.Dense(3, name="dense")(inputs))

    inputs = keras.Input((3,))
    model = keras.Model(inputs, block()(block()(inputs)))
    assert list(find_kernels(model)) == ["dense/kernel", "dense/kernel#2"]
    assert len(prune(model, 0.5, layers=["dense"])) == 2


@pytest.mark.parametrize("sparsity", [1.0, -0.1, float("nan"), "0.5", None, True])
def test_a_sparsity_out_of_range(sparsity):
    model = stack((3,), keras.layers.Dense(3))
    assert_refused(r"sparsity: got .*, expected a number in \[0, 1\)", prune, model, sparsity)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (keras.layers.Dense(3), "model: got Dense, expected a Keras 3 model"),
        (keras.Sequential([keras.layers.Dense(3)]), "has no variables yet"),
        (
            stack((3,), keras.layers.ReLU()),
            "which has nothing to prune, expected a float variable called 'kernel', 'dep",
        ),
    ],
)
def test_what_cannot_be_pruned(model, message):
    assert_refused(message, prune, model, 0.5)
