"""The actual sparsity of a model, and why it may be less than requested."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path

import keras
import numpy as np

from tfaudit.compress.pruning.kernels import Kernels, owners
from tfaudit.compress.pruning.masks import pruned_share
from tfaudit.errors import Notice, listed

TOLERANCE = 0.01
"""Tolerated shortfall of the sparsity, due to rounding in small kernels or a frequency that misses the last step."""

UNMASKED = (
    "no optimizer updates some of the kernels, or another program writes them after it, such as "
    "EarlyStopping(restore_best_weights=True) or a step that was traced before the masks were on"
)
"""Why a mask may have no effect."""


def effective_values(kernel: keras.Variable, layer: keras.Layer) -> np.ndarray:
    """Return the effective kernel of a layer, including the product that LoRA adds.

    >>> layer = keras.layers.Dense(3)
    >>> layer.build((None, 2))
    >>> layer.enable_lora(1)
    >>> layer.lora_kernel_b.assign(np.ones((1, 3))) is None
    False
    >>> bool((effective_values(layer._kernel, layer) == layer._kernel).any())
    False
    """
    if getattr(layer, "lora_enabled", False):
        name = "embeddings" if kernel.name == "embeddings" else "kernel"
        return keras.ops.convert_to_numpy(getattr(layer, name))
    return kernel.numpy()


def reached_sparsity(model: keras.Model, kernels: Kernels) -> float:
    """Return the share of zeros among the effective values of these kernels, including LoRA."""
    layers = owners(model, kernels)
    values = (effective_values(kernel, layers[name]) for name, kernel in kernels.items())
    return pruned_share(each != 0 for each in values)


def warn_of_shortfall(model: keras.Model, kernels: Kernels, masked: float, remedy: str) -> None:
    """Warn if the weights have fewer zeros than their masks, whose sparsity is `masked`; name layers with LoRA."""
    reached = reached_sparsity(model, kernels)
    if reached >= masked - TOLERANCE / 10:
        return
    layers = owners(model, kernels)
    with_lora = sorted(
        {layer.name for layer in layers.values() if getattr(layer, "lora_enabled", False)}
    )
    if with_lora:
        remedy = f"LoRA fills the zeros of {listed(with_lora)}; save and load the model, which merges LoRA, then prune"
    warnings.warn(
        Notice(f"sparsity: reached {reached:.2f} of {masked:.2f}: {remedy}"), stacklevel=3
    )


def warn_of_quantized(model: keras.Model) -> None:
    """Warn of layers whose kernels Keras has quantized to integers, since they have no weights to prune."""
    integers = {
        variable.path: variable
        for variable in model.non_trainable_variables
        if "kernel" in variable.name and "int" in str(variable.dtype)
    }
    if integers:
        names = dict.fromkeys(layer.name for layer in owners(model, integers).values())
        text = f"layers that Keras has quantized are not pruned: {listed([*names])}"
        warnings.warn(Notice(f"{text}; prune, then quantize"), stacklevel=3)


def warn_of_files(files: Mapping[str, float], final: float) -> None:
    """Warn of files with fewer zeros than the model has at the end of its training.

    Of files whose names differ in numbers only, such as those of all epochs, the last one counts.

    Args:
        files: sparsity of the weights in each file, in the order of saving.
        final: sparsity at the end.
    """
    last = {re.sub(r"\d+", "", path): path for path in files}.values()
    early = [path for path in last if files[path] < final - TOLERANCE and Path(path).exists()]
    if early:
        shares = ", ".join(f"{files[path]:.2f}" for path in early)
        reason = "it was saved before the last mask, or with weights that a callback had set"
        remedy = "let ModelCheckpoint watch the epochs after the last mask only"
        text = f"sparsity: {listed(early)} has {shares}, not {final:.2f}: {reason}; {remedy}"
        warnings.warn(Notice(text), stacklevel=3)
