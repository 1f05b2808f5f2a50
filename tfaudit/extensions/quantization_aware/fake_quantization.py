"""Fake quantization: float values rounded to values that int8 can hold, with the gradient of the identity."""

import math
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfaudit.compress.litert.learned_ranges import RangeLayer, is_exporting

BITS = 8
SMALLEST = 1e-8
"""Magnitude below which a channel's weights, or all activations that were seen, count as zero."""


def fake_quantized_weights(weights: Any, channels: tuple[int, ...] = (-1,)) -> tf.Tensor:
    """Round weights to the int8 values -127 to 127 times a scale per channel, `max |w| / 127`.

    Zero stays exactly zero. The converter uses the same scales for weights.

    Args:
        weights: float32 weights of any shape.
        channels: axes that index the channels; by default the last one, as for a convolution's kernel.

    >>> fake_quantized_weights([[127.0, 2.0], [12.4, 0.0]]).numpy().tolist()
    [[127.0, 2.0], [12.0, 0.0]]
    """
    weights = tf.convert_to_tensor(weights)
    rank = weights.shape.rank
    kept = [axis % rank for axis in channels]
    order = [axis for axis in range(rank) if axis not in kept] + kept
    turned = tf.transpose(weights, order)
    table = tf.reshape(turned, (-1, math.prod(turned.shape[-len(kept) :])))
    # Only clipped values have a gradient with respect to the limits, and nothing is clipped.
    limits = tf.stop_gradient(tf.maximum(tf.reduce_max(tf.abs(table), axis=0), SMALLEST))
    rounded = tf.quantization.fake_quant_with_min_max_vars_per_channel(
        table, -limits, limits, num_bits=BITS, narrow_range=True
    )
    return tf.transpose(tf.reshape(rounded, turned.shape), np.argsort(order))


@keras.saving.register_keras_serializable("tfaudit")
class FakeQuantization(RangeLayer):
    """Layer that rounds activations to 256 values between moving averages of a batch's lowest and highest value.

    The averages are plain means over the first batches and exponential averages afterwards; a batch of zeros, as of
    ReLUs that are all dead, says nothing about the range and leaves it. The range includes zero, which is represented
    exactly. It is [0, 1] if only zeros were seen, since LiteRT refuses a scale of zero or almost zero. Before the first
    training step, values pass unchanged.

    Args:
        momentum: weight of earlier batches in the averages, in [0, 1).
    """

    def __init__(self, momentum: float = 0.99, **options: Any) -> None:
        super().__init__(**options)
        self.momentum = momentum

    def build(self, input_shape: Any) -> None:
        """Create the range, and the count of batches on which it was measured."""
        names = ("low", "high", "batches")
        self.low, self.high, self.batches = (
            self.add_weight((), "zeros", "float32", trainable=False, aggregation="mean", name=name)
            for name in names
        )

    def call(self, inputs: Any, training: bool = False) -> Any:
        """Return the rounded inputs; in training, update the range first."""
        if is_exporting():
            return self._rounded(inputs)
        if training:
            self._measure(inputs)
            return self._rounded(inputs)
        return tf.cond(self.batches.value > 0, lambda: self._rounded(inputs), lambda: inputs)

    def get_config(self) -> dict[str, Any]:
        """Return the settings, as every Keras layer does."""
        return {**super().get_config(), "momentum": self.momentum}

    def _measure(self, inputs: Any) -> None:
        seen = tf.convert_to_tensor(self.batches)
        values = tf.stop_gradient(inputs)
        low = tf.minimum(tf.reduce_min(values), 0.0)
        high = tf.maximum(tf.reduce_max(values), 0.0)
        keep = tf.where(high - low < SMALLEST, 1.0, tf.minimum(self.momentum, seen / (seen + 1)))
        self.low.assign(keep * self.low + (1 - keep) * low)
        self.high.assign(keep * self.high + (1 - keep) * high)
        self.batches.assign(seen + 1)

    def _rounded(self, inputs: Any) -> Any:
        low, high = self.low.value, self.high.value
        high = tf.where(high - low < SMALLEST, 1.0, high)
        return tf.quantization.fake_quant_with_min_max_vars(inputs, low, high, num_bits=BITS)
