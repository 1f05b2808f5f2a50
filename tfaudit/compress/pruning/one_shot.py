"""The masks of pruning at one blow, from the values that a model's kernels have."""

from collections.abc import Mapping

import keras
import numpy as np
import tensorflow as tf

from tfaudit.compress.pruning.channels import channel_axes, slices, spread
from tfaudit.compress.pruning.chip import batch_independence
from tfaudit.compress.pruning.gradients import loss_gradients
from tfaudit.compress.pruning.masks import masks
from tfaudit.compress.pruning.pruning_method import Technique
from tfaudit.compress.pruning.score_data import GradientData, batches, mean_over

__all__ = ["ranked"]


def ranked(
    model: keras.Model,
    kernels: Mapping[str, keras.Variable],
    sparsity: float,
    technique: Technique,
    data: GradientData | None = None,
) -> dict[str, np.ndarray]:
    """Which weights stay. Weights and channels that are 0 already go first.

    Args:
        model: a built Keras 3 model.
        kernels: those to prune, by name.
        sparsity: the share of weights, or of channels, to prune.
        technique: how they are ranked.
        data: examples, for techniques whose scores are taken over examples.

    Returns:
        Per kernel a bool array of its shape: True where a weight stays.

    Raises:
        InputError: as `tfaudit.prune`.
    """
    values = {name: kernel.numpy() for name, kernel in kernels.items()}
    if technique.tfmot is not None:
        for name, each in values.items():
            technique.tfmot.check(name, each.shape, sparsity)
        return {name: technique.tfmot.mask(each, sparsity).numpy() for name, each in values.items()}
    axes = channel_axes(model, kernels, technique.axis)
    draws = technique.draws({name: each.shape for name, each in values.items()}, axes)
    measured = _measured(model, kernels, technique, data)
    by_channel = technique.granularity == "channel"
    scores = {}
    for name, each in values.items():
        found = technique.scores(
            each.astype(np.float32), axes=axes[name], draws=draws.get(name), measured=measured.get(name)
        )
        alive = np.asarray(slices(each != 0, axes[name])).any(axis=1) if by_channel else each != 0
        scores[name] = np.where(alive, np.asarray(found), np.float32(0))
    kept = masks(scores, sparsity, scope=technique.scope)
    if not by_channel:
        return kept
    return {name: np.array(spread(mask, values[name].shape, axes[name])) for name, mask in kept.items()}


def _measured(
    model: keras.Model, kernels: Mapping[str, keras.Variable], technique: Technique, data: GradientData | None
) -> Mapping[str, np.ndarray]:
    technique.check_data(data)
    if data is None or not technique.needs_data:
        return {}
    if "gradients" in technique.inputs:
        return loss_gradients(model, kernels, data, of=technique.gradient)
    values = [tf.convert_to_tensor(kernel) for kernel in kernels.values()]
    means = mean_over(batches(data), lambda x, _: batch_independence(model, kernels, values, x, axis=technique.axis))
    return dict(zip(kernels, means, strict=True))
