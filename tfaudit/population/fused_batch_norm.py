"""BatchNormalization as a single operation, instead of Keras' dozen, while a model trains on a CPU.

A training step of `cifar_convnet` or a ResNet-20 takes about a fifth less, a third less in mixed_bfloat16
(`benchmarks/training_rate.py`). XLA, the default on a GPU, fuses the operations itself.
"""

import functools
from typing import Any

import keras
import tensorflow as tf

from tfaudit.runtime.keras_internals import layers_in


def fuse_batch_norm(model: keras.Model) -> None:
    """Make the BatchNormalization layers of a model train with TensorFlow's fused operation.

    The values are the same within floating point: batch statistics, gradients, moving averages. The layers keep their
    class, so nothing changes in files; predictions are computed as before. Layers that the operation cannot replace,
    such as those in other precisions or over other axes, stay as they are.
    """
    for layer in layers_in(model, itself=False):
        if type(layer) is keras.layers.BatchNormalization and _is_fusible(layer):
            layer.call = functools.partial(_call, layer, layer.call)


def _is_fusible(layer: keras.layers.BatchNormalization) -> bool:
    images = layer.input_spec.ndim == 4 and layer.axis in (-1, 3)
    plain = (
        layer.scale
        and layer.center
        and not layer.synchronized
        and not getattr(layer, "renorm", False)
    )
    precise = layer.variable_dtype == "float32"
    return bool(images and plain and precise and layer.compute_dtype in ("float32", "bfloat16"))


def _call(
    layer: keras.layers.BatchNormalization,
    plain_call: Any,
    inputs: tf.Tensor,
    training: Any = None,
    mask: Any = None,
) -> tf.Tensor:
    if not training or not layer.trainable or mask is not None:
        return plain_call(inputs, training=training, mask=mask)
    outputs, mean, unbiased, *_ = tf.raw_ops.FusedBatchNormV3(
        x=inputs,
        scale=layer.gamma.value,
        offset=layer.beta.value,
        mean=tf.constant([], tf.float32),
        variance=tf.constant([], tf.float32),
        epsilon=layer.epsilon,
        is_training=True,
    )
    count = tf.cast(tf.size(inputs) // tf.shape(inputs)[-1], tf.float32)
    variance = unbiased * (
        tf.maximum(count - 1, 1) / count
    )  # Keras' moving averages use the biased variance
    for moving, value in ((layer.moving_mean, mean), (layer.moving_variance, variance)):
        moving.assign(moving * layer.momentum + value * (1.0 - layer.momentum))
    return outputs
