"""`prune`: one shot, in place."""

import keras
import numpy as np
import pytest

from tests.builders.pruning_reference import keep_count
from tfaudit.compress.pruning.kernels import find_kernels
from tfaudit.compress.pruning.masks import SCOPES
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.compress.pruning.scores import GRANULARITIES
from tfaudit.errors import InputError


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
    tail = keras.Sequential([keras.Input((6,)), keras.layers.Dense(4, name="logits")], name="tail")
    return keras.Model(inputs, tail(x))


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("method", GRANULARITIES["weight"])
def test_exactly_the_weights_outside_the_masks_become_zero(method, scope):
    model = every_kind()
    before = {weight.path: weight.numpy() for weight in model.weights}
    model.compile(loss="mse")
    data = np.ones((2, 12, 12, 4), np.float32), np.ones((2, 4), np.float32)
    masks = prune(model, 0.7, method=method, scope=scope, gradient_data=data, decay=1e-3)
    for weight in model.weights:
        kept = masks.get(weight.path, np.ones(weight.shape, bool))
        np.testing.assert_array_equal(weight.numpy(), np.where(kept, before[weight.path], 0))
    counts = [keep_count(mask.size, 0.7) for mask in masks.values()]
    if scope == "layer":
        assert [mask.sum() for mask in masks.values()] == counts
    assert sum(mask.sum() for mask in masks.values()) == pytest.approx(sum(counts), abs=len(counts))


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
    assert find_kernels(keras.Sequential([keras.Input((3,)), keras.layers.Embedding(5, 2)])) == {}


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
    with pytest.raises(
        InputError,
        match=r"layers: got 'other', expected layers of .* with a kernel: 'backward_lstm', 'both', 'conv'",
    ):
        prune(model, 0.5, layers=[keras.layers.Dense(3, name="other")])
    with pytest.raises(
        InputError, match=r"layers: got 'norm', expected layers of .* with a kernel"
    ):
        prune(model, 0.5, layers=["norm"])


def test_layers_of_one_name_in_two_places_are_told_apart():
    def block():
        inputs = keras.Input((3,))
        return keras.Model(inputs, keras.layers.Dense(3, name="dense")(inputs))

    inputs = keras.Input((3,))
    model = keras.Model(inputs, block()(block()(inputs)))
    assert list(find_kernels(model)) == ["dense/kernel", "dense/kernel#2"]
    assert len(prune(model, 0.5, layers=["dense"])) == 2


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_the_dtype_is_kept(dtype):
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(10, dtype=dtype)])
    [mask] = prune(model, 0.75).values()
    [kernel] = find_kernels(model).values()
    assert kernel.dtype == dtype
    assert mask.dtype == bool
    assert mask.sum() == 20 == (kernel.numpy() != 0).sum()


def test_random_is_seeded():
    def masks(seed):
        return np.concatenate(
            [mask.ravel() for mask in prune(every_kind(), 0.5, method="random", seed=seed).values()]
        )

    np.testing.assert_array_equal(masks(1), masks(1))
    assert (masks(1) != masks(2)).any()


@pytest.mark.parametrize("sparsity", [1.0, -0.1, float("nan"), "0.5", None, True])
def test_a_sparsity_out_of_range(sparsity):
    with pytest.raises(InputError, match=r"sparsity: got .*, expected a number in \[0, 1\)"):
        prune(every_kind(), sparsity)


def test_what_cannot_be_pruned():
    with pytest.raises(InputError, match="model: got Dense, expected a Keras 3 model"):
        prune(keras.layers.Dense(3), 0.5)
    with pytest.raises(InputError, match="has no variables yet"):
        prune(keras.Sequential([keras.layers.Dense(3)]), 0.5)
    with pytest.raises(
        InputError,
        match="which has nothing to prune, expected a float variable called 'kernel', 'depthwise_kernel'",
    ):
        prune(keras.Sequential([keras.Input((3,)), keras.layers.ReLU()]), 0.5)


def test_a_keras_2_model_is_sent_to_tfmot():
    class Model:
        __module__ = "tf_keras.src.engine.sequential"

    with pytest.raises(
        InputError,
        match=r"tf_keras \(Keras 2\) model.* prune others with TF-MOT's own prune_low_magnitude",
    ):
        prune(Model(), 0.5)
