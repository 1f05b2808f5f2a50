"""Layers that compute with fake-quantized weights."""

import math
from typing import Any

import keras
import tensorflow as tf

from tfaudit.compress.layer_kinds import DEPTHWISE, layer_kinds
from tfaudit.compress.litert.learned_ranges import is_exporting
from tfaudit.extensions.quantization_aware.fake_quantization import (
    FakeQuantization,
    fake_quantized_weights,
)


def contracted_axes(layer: Any) -> int:
    """Return the number of input axes over which an EinsumDense sums like a Dense; 0 if it is unlike a Dense.

    It is like a Dense if these axes are the input's last and the kernel's first, the kernel's other axes are the
    output's last, and the bias has all of the latter.

    >>> layer = keras.layers.EinsumDense("abc,cde->abde", (None, 4, 8))
    >>> contracted_axes(layer)
    1
    """
    operands, _, result = layer.equation.replace("...", "").partition("->")
    source, _, kernel = operands.partition(",")
    count = sum(letter in source for letter in kernel)
    added = kernel[count:]
    same = source.endswith(kernel[:count]) and result == source.removesuffix(kernel[:count]) + added
    return count if same and (layer.bias_axes or added) == added else 0


WEIGHTED = (
    *layer_kinds("Dense", "EinsumDense", "Conv{}D", "DepthwiseConv{}D", dimensions=(1, 2)),
    keras.layers.Conv2DTranspose,
)
"""Layers whose kernel is fake-quantized. A SeparableConv is split into two of them."""


def kernel_channels(layer: Any) -> tuple[int, ...]:
    """Return the axes of a kernel that index the channels, each of which has its own scale.

    >>> layer = keras.layers.DepthwiseConv2D(3)
    >>> kernel_channels(layer)
    (-2, -1)
    """
    if isinstance(layer, keras.layers.EinsumDense):
        return tuple(range(contracted_axes(layer), len(layer.kernel.shape)))
    if isinstance(layer, keras.layers.Conv2DTranspose):
        return (-2,)
    # In a depthwise convolution, the channels of the input and the filters for each.
    return (-2, -1) if isinstance(layer, DEPTHWISE) else (-1,)


@keras.saving.register_keras_serializable("tfaudit")
class FakeQuantizedWeights(keras.layers.Wrapper):
    """Layer that calls another one with a fake-quantized kernel; the kernel itself stays float32 and is trained."""

    def call(self, inputs: Any) -> Any:
        """Call the layer; for the converter, with the unrounded kernel, since the converter uses the same scales."""
        if is_exporting():
            product = isinstance(self.layer, keras.layers.EinsumDense | keras.layers.Dense)
            if product and inputs.shape.rank > 2:
                return _as_dense(self.layer, inputs)
            return self.layer(inputs)
        kernel = self.layer.kernel
        rounded = fake_quantized_weights(kernel, kernel_channels(self.layer))
        with keras.StatelessScope(state_mapping=[(kernel, rounded)]):
            return self.layer(inputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the layer's output."""
        return self.layer.compute_output_shape(input_shape)


def _as_dense(layer: Any, inputs: Any) -> Any:
    """Compute a Dense or EinsumDense as one matrix product, so that adding the bias needs no range in between."""
    count = 1 if isinstance(layer, keras.layers.Dense) else contracted_axes(layer)
    sides = tf.shape(inputs)
    units = layer.kernel.shape[count:]
    kernel = tf.reshape(layer.kernel, (-1, math.prod(units)))
    made = tf.matmul(tf.reshape(inputs, (-1, kernel.shape[0])), kernel)
    made = made if layer.bias is None else made + tf.reshape(layer.bias, [-1])
    made = made if layer.activation is None else layer.activation(made)
    return tf.reshape(made, tf.concat([sides[: inputs.shape.rank - count], units], 0))


@keras.saving.register_keras_serializable("tfaudit")
class UnfoldedNormalization(keras.layers.Wrapper):
    """BatchNormalization that cannot be folded into the kernel of a layer before it.

    The converter receives it as a one-pixel depthwise convolution, whose single weight per channel int8 holds exactly;
    a product and a sum would need a range between them.
    """

    def call(self, inputs: Any, training: bool = False) -> Any:
        """Normalise the inputs; for the converter, as a depthwise convolution."""
        if not is_exporting():
            return self.layer(inputs, training=training)
        layer = self.layer
        channels = inputs.shape[-1]
        scale = tf.math.rsqrt(layer.moving_variance + layer.epsilon)
        scale = scale * layer.gamma if layer.scale else scale
        shift = -layer.moving_mean * scale
        shift = shift + layer.beta if layer.center else shift
        is_image = inputs.shape.rank == 4
        sides = tf.shape(inputs)
        image = inputs if is_image else tf.reshape(inputs, (sides[0], 1, -1, channels))
        kernel = tf.reshape(scale, (1, 1, channels, 1))
        normalised = tf.nn.depthwise_conv2d(image, kernel, [1, 1, 1, 1], "VALID") + shift
        return normalised if is_image else tf.reshape(normalised, sides)


@keras.saving.register_keras_serializable("tfaudit")
class RangedConcatenation(keras.layers.Wrapper):
    """Concatenation with one range for inputs and output, as TensorFlow Lite requires."""

    def __init__(self, layer: keras.layers.Layer, momentum: float = 0.99, **options: Any) -> None:
        super().__init__(layer, **options)
        self.momentum = momentum
        self.common = FakeQuantization(momentum, name="common_range")

    def build(self, input_shape: Any) -> None:
        """Build the concatenation and its range."""
        super().build(input_shape)
        self.common.build(self.layer.compute_output_shape(input_shape))

    def call(self, inputs: Any, training: bool = False) -> Any:
        """Concatenate the inputs; for the converter, round each of them to the common range first."""
        if is_exporting():
            return self.layer([self.common(part) for part in inputs])
        return self.common(self.layer(inputs), training=training)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the concatenation."""
        return self.layer.compute_output_shape(input_shape)

    def get_config(self) -> dict[str, Any]:
        """Return the settings, as every Keras layer does."""
        return {**super().get_config(), "momentum": self.momentum}


def separable_parts(
    config: dict[str, Any], kind: type, weights: list[Any]
) -> list[tuple[Any, list[Any]]]:
    """Return the depthwise and the pointwise convolution of a SeparableConv, given its settings and weights."""
    is_image = issubclass(kind, keras.layers.SeparableConv2D)
    depthwise: Any = keras.layers.DepthwiseConv2D if is_image else keras.layers.DepthwiseConv1D
    pointwise: Any = keras.layers.Conv2D if is_image else keras.layers.Conv1D
    kinds = ("initializer", "regularizer", "constraint")

    def settings(*names: str) -> dict[str, Any]:
        return {name: config[name] for name in ("data_format", "dtype", "trainable", *names)}

    first = depthwise(
        **settings("kernel_size", "strides", "padding", "dilation_rate", "depth_multiplier"),
        **{f"depthwise_{kind}": config[f"depthwise_{kind}"] for kind in kinds},
        use_bias=False,
        name=f"{config['name']}_depthwise",
    )
    second = pointwise(
        kernel_size=1,
        **settings("filters", "activation", "use_bias", *(f"bias_{kind}" for kind in kinds)),
        **{f"kernel_{kind}": config[f"pointwise_{kind}"] for kind in kinds},
        name=f"{config['name']}_pointwise",
    )
    return [(first, weights[:1]), (second, weights[1:])]
