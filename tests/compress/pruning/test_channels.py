"""What a channel is, per layer; that whole channels go, and which stay of equal ones."""

import keras
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from tests.builders.pruning_reference import keep_count
from tests.builders.stacks import stack
from tfaudit.compress.pruning.channels import (
    channel_axes,
    channel_count,
)
from tfaudit.compress.pruning.kernels import find_kernels
from tfaudit.compress.pruning.one_shot import prune


def channel(kernel, axes, number):
    """The weights of one channel, by plain indexing."""
    index = [slice(None)] * kernel.ndim
    for axis, place in zip(
        axes, np.unravel_index(number, [kernel.shape[axis] for axis in axes]), strict=True
    ):
        index[axis] = place
    return kernel[tuple(index)]


def every_layer():
    keras.utils.set_random_seed(0)
    inputs = keras.Input((8, 8, 4))
    x = keras.layers.DepthwiseConv2D(3, depth_multiplier=2, name="depthwise")(inputs)
    x = keras.layers.SeparableConv2D(6, 2, name="separable")(x)
    x = keras.layers.Conv2DTranspose(5, 3, name="transpose")(x)
    flat = keras.layers.Reshape((49, 5))(x)
    y = keras.layers.Conv1D(7, 3, name="conv1d")(flat)
    y = keras.layers.Conv1DTranspose(3, 3, name="transpose1d")(y)
    z = keras.layers.Conv3D(2, (3, 3, 2), name="conv3d")(keras.layers.Reshape((7, 7, 5, 1))(x))
    z = keras.layers.Conv3DTranspose(4, 2, name="transpose3d")(z)
    out = keras.layers.Concatenate()([keras.layers.Flatten()(y), keras.layers.Flatten()(z)])
    return keras.Model(inputs, keras.layers.Dense(4, name="logits")(out))


def test_channels_are_counted_as_the_layers_count_them():
    model = every_layer()
    kernels = find_kernels(model)

    def counts(axis):
        return {
            n: channel_count(kernels[n].shape, axes)
            for n, axes in channel_axes(model, kernels, axis).items()
        }

    assert counts(-2) == {
        **{"depthwise/kernel": 4, "separable/depthwise_kernel": 8, "separable/pointwise_kernel": 8},
        **{"transpose/kernel": 6, "conv1d/kernel": 5, "transpose1d/kernel": 7},
        **{
            "conv3d/kernel": 1,
            "transpose3d/kernel": 2,
            "logits/kernel": kernels["logits/kernel"].shape[0],
        },
    }
    assert counts(-1) == {
        **{"depthwise/kernel": 8, "separable/depthwise_kernel": 8, "separable/pointwise_kernel": 6},
        **{"transpose/kernel": 5, "conv1d/kernel": 7, "transpose1d/kernel": 3},
        **{"conv3d/kernel": 2, "transpose3d/kernel": 4, "logits/kernel": 4},
    }


def test_a_pruned_output_channel_is_silent_in_every_layer():
    """The layers themselves say which outputs a channel is: without bias its map is 0, and the others are as before."""
    model = every_layer()
    watched = [layer for layer in model.layers if layer.weights and layer.name != "separable"]
    taps = keras.Model(model.input, [layer.output for layer in watched])
    image = np.random.default_rng(0).normal(size=(1, 8, 8, 4)).astype(np.float32)
    for layer in watched:
        for weight in layer.weights:
            if weight.name == "bias":
                weight.assign(np.zeros(weight.shape))
    for layer, before in zip(watched, taps(image), strict=True):
        [kernel], [name] = [
            [w for w in layer.weights if w.name != "bias"],
            [f"{layer.name}/kernel"],
        ]
        values = kernel.numpy()
        [mask] = prune(
            model, 0.5, method="l2", granularity="channel", axis=-1, layers=[layer.name]
        ).values()
        after = taps(image)[watched.index(layer)]
        kernel.assign(values)
        [axes] = channel_axes(model, {name: kernel}, -1).values()
        kept = np.array(
            [channel(mask, axes, i).any() for i in range(channel_count(mask.shape, axes))]
        )
        assert kept.sum() == keep_count(len(kept), 0.5)
        assert_allclose(after.numpy(), before.numpy() * kept, atol=1e-6)


def test_channels_with_the_same_weights_in_another_order_tie_and_the_first_stays():
    weights = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    columns = np.stack([np.random.default_rng(i).permutation(weights) for i in range(6)], axis=1)
    model = stack((1000,), keras.layers.Dense(6, name="only"))
    for method in ("l1", "l2", "linf"):
        model.layers[0].kernel.assign(columns)
        [mask] = prune(model, 0.5, method=method, granularity="channel", axis=-1).values()
        assert_array_equal(
            mask, np.broadcast_to([True, True, True, False, False, False], (1000, 6))
        )


def test_all_kernels_together_may_lose_one_as_a_whole():
    model = stack((4,), keras.layers.Dense(4, name="small"), keras.layers.Dense(4, name="big"))
    model.get_layer("small").kernel.assign(np.full((4, 4), 0.1))
    model.get_layer("big").kernel.assign(np.ones((4, 4)))
    masks = prune(model, 0.5, method="l1", scope="global", granularity="channel")
    assert [mask.sum() for mask in masks.values()] == [0, 16]
