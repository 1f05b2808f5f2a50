"""FLOPs: by hand for every kind of layer, published for ResNet-50, and beside TensorFlow's profiler."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from tfaudit.compress.keras_operations import keras_operations
from tfaudit.models.registry import build_model


def net(shape, *stack, name="net"):
    inputs = keras.Input(shape)
    x = inputs
    for layer in stack:
        x = layer(x)
    return keras.Model(inputs, x, name=name)


def macs(model):
    found = keras_operations(model)
    assert not found.uncounted
    return [operation.macs for operation in found.counted]


@pytest.mark.parametrize(
    ("shape", "layer", "expected"),
    [
        ((8, 8, 4), layers.Conv2D(6, 3), [6 * 6 * 6 * 3 * 3 * 4]),
        ((8, 8, 4), layers.Conv2D(6, 3, padding="same", strides=2), [4 * 4 * 6 * 3 * 3 * 4]),
        ((8, 8, 4), layers.Conv2D(6, 3, dilation_rate=2), [4 * 4 * 6 * 3 * 3 * 4]),
        ((8, 8, 4), layers.Conv2D(6, 3, groups=2), [6 * 6 * 6 * 3 * 3 * 2]),
        ((9, 4), layers.Conv1D(6, 3), [7 * 6 * 3 * 4]),
        ((5, 6, 7, 2), layers.Conv3D(3, 2), [4 * 5 * 6 * 3 * 2 * 2 * 2 * 2]),
        ((8, 8, 4), layers.DepthwiseConv2D(3, depth_multiplier=2), [6 * 6 * 8 * 3 * 3]),
        ((9, 4), layers.DepthwiseConv1D(3), [7 * 4 * 3]),
        ((8, 8, 4), layers.SeparableConv2D(6, 3), [6 * 6 * 4 * 3 * 3, 6 * 6 * 4 * 6]),
        ((9, 4), layers.SeparableConv1D(6, 3), [7 * 4 * 3, 7 * 4 * 6]),
        ((8, 8, 4), layers.Conv2DTranspose(6, 3, strides=2), [8 * 8 * 4 * 3 * 3 * 6]),
        ((9, 4), layers.Conv1DTranspose(6, 3), [9 * 4 * 3 * 6]),
        ((4, 4, 4, 2), layers.Conv3DTranspose(3, 2), [4**3 * 2 * 2**3 * 3]),
        ((5,), layers.Dense(7), [5 * 7]),
        ((3, 4, 5), layers.Dense(7), [3 * 4 * 5 * 7]),
        ((3, 4), layers.EinsumDense("abc,cde->abde", (None, 2, 6)), [3 * 4 * 2 * 6]),
        ((8, 8, 4), layers.GlobalAveragePooling2D(), []),
    ],
    ids=lambda value: value.name if isinstance(value, keras.Layer) else None,
)
def test_each_layer_by_hand(shape, layer, expected):
    assert macs(net(shape, layer)) == expected


def test_attention_counts_its_products_of_activations():
    inputs = keras.Input((5, 8))
    model = keras.Model(inputs, layers.MultiHeadAttention(2, 3)(inputs, inputs))
    projections, scores = 4 * 5 * 8 * 2 * 3, 2 * 2 * 5 * 5 * 3
    assert sum(macs(model)) == projections + scores


def resnet50_by_formula(*, stride_in_middle):
    """He et al. 2016, table 1: version 1.5 has the stride of a stage in the 3x3 convolution, version 1 before it."""
    total, channels, side = 112**2 * 7**2 * 3 * 64, 64, 56
    for stage, (width, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(blocks):
            before = side
            side = side // 2 if stage and not block else side
            first = before if stride_in_middle else side
            total += first**2 * channels * width + side**2 * (9 * width**2 + 4 * width**2)
            total += 0 if block else side**2 * channels * 4 * width
            channels = 4 * width
    return total + channels * 1000


@pytest.mark.slow
def test_resnet50_is_the_published_number():
    assert resnet50_by_formula(stride_in_middle=True) == pytest.approx(
        4.09e9, rel=1e-3
    )  # torchvision's table
    found = keras_operations(keras.applications.ResNet50(weights=None))
    assert found.flops == 2 * resnet50_by_formula(stride_in_middle=False)
    assert found.flops / 2 == pytest.approx(3.86e9, rel=1e-3)


def profiled(model, shape):
    """Float operations of convolutions and matrix products by TensorFlow's profiler on the frozen graph."""
    function = tf.function(lambda images: model(images, training=False))
    frozen = convert_variables_to_constants_v2(
        function.get_concrete_function(tf.TensorSpec((1, *shape)))
    )
    options = tf.compat.v1.profiler.ProfileOptionBuilder
    options = options(options.float_operation()).with_empty_output().build()
    found, todo = 0, [tf.compat.v1.profiler.profile(frozen.graph, cmd="op", options=options)]
    while todo:
        node = todo.pop()
        todo.extend(node.children)
        if node.name in ("Conv2D", "DepthwiseConv2dNative", "MatMul"):
            found += node.float_ops
    return found


@pytest.mark.parametrize(
    "model",
    [
        build_model("resnet20", (32, 32, 3), 10),
        net(
            (12, 12, 4),
            layers.SeparableConv2D(6, 3, strides=2),
            layers.Conv2D(3, 5),
            layers.Flatten(),
            layers.Dense(2),
        ),
    ],
    ids=["resnet20", "separable"],
)
def test_equal_to_tensorflows_profiler(model):
    assert keras_operations(model).flops == profiled(model, model.input_shape[1:])


def test_zero_filters_save_what_a_narrower_layer_saves():
    wide, narrow = (net((8, 8, 3), layers.Conv2D(width, 3, name="conv")) for width in (8, 3))
    kernel = wide.get_layer("conv").kernel
    kernel.assign(np.where(np.arange(8) < 3, kernel.numpy(), 0))
    found = keras_operations(wide)
    assert found.effective_flops == keras_operations(narrow).flops < found.flops
    kernel.assign(np.zeros(kernel.shape))
    assert keras_operations(wide).effective_flops == 0


@pytest.mark.parametrize(
    "layer",
    [
        layers.Conv2D(4, 3, groups=2),
        layers.Conv2DTranspose(4, 3),
        layers.DepthwiseConv2D(3),
        layers.Dense(8),
        layers.EinsumDense("abcd,de->abce", (None, None, 8)),
        layers.Conv2D(4, 3, dtype="mixed_bfloat16"),
    ],
    ids=lambda layer: f"{layer.name}",
)
def test_zeros_are_found_behind_casts_reshapes_and_compiled_functions(layer):
    model = net((8, 8, 4), layer)
    kernel = layer.kernel
    flat = np.ones(np.prod(kernel.shape))
    flat[: len(flat) // 4] = 0
    kernel.assign(flat.reshape(kernel.shape))
    (operation,) = keras_operations(model).counted
    assert operation.effective_macs == 0.75 * operation.macs
    assert operation.name == kernel.path


def test_what_is_used_twice_counts_twice_wherever_it_lies():
    conv, inputs = layers.Conv2D(3, 3, padding="same"), keras.Input((6, 6, 3))
    once, twice = keras.Model(inputs, conv(inputs)), keras.Model(inputs, conv(conv(inputs)))
    nested = keras.Model(inputs, once(conv(inputs)))
    assert (
        2 * keras_operations(once).flops
        == keras_operations(twice).flops
        == keras_operations(nested).flops
    )


class Own(keras.Model):
    """A subclassed model with a weight of its own."""

    def build(self, shape):
        self.own = self.add_weight(shape=(shape[-1], 5), name="own")

    def call(self, images):
        return tf.matmul(images, self.own)


def test_own_models_and_fixed_batches():
    own = Own()
    own.build((None, 4))
    assert macs(own) == [20]
    fixed = keras.Input(batch_shape=(3, 4))
    assert macs(keras.Model(fixed, layers.Dense(5)(fixed))) == [20]


def test_loops_are_named_not_guessed():
    found = keras_operations(net((7, 3), layers.LSTM(4, name="memory")))
    (loop,) = found.uncounted
    assert "memory" in loop


def test_open_sides_count_as_64_pixels():
    assert macs(net((None, None, 2), layers.Conv2D(3, 1))) == [64 * 64 * 2 * 3]
