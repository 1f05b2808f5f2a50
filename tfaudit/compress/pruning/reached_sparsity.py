"""The actual sparsity of a model, and why it may be less than requested."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

import keras
import numpy as np

from tfaudit.compress.pruning.kernels import Kernels, owners
from tfaudit.compress.pruning.masks import pruned_share
from tfaudit.errors import listed, require

TOLERANCE = 0.01
"""Tolerated shortfall of the sparsity, due to rounding in small kernels or a frequency that misses the last step."""

UNMASKED = "no optimizer updates some of the kernels, or another program writes them after it"
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
    warnings.warn(f"sparsity: reached {reached:.2f} of {masked:.2f}: {remedy}", stacklevel=3)


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
        warnings.warn(f"{text}; prune, then quantize", stacklevel=3)


class KeptEpochs:
    """Epochs that callbacks of a fit keep as the best, and their sparsities.

    The model kept by `ModelCheckpoint(save_best_only=True)` or `EarlyStopping(restore_best_weights=True)` may come from
    an epoch before the last mask.
    """

    def __init__(self, callbacks: Sequence[keras.callbacks.Callback]) -> None:
        self._callbacks = callbacks
        self._best = [getattr(callback, "best", None) for callback in callbacks]
        self._sparsities: dict[int, float] = {}  # sparsity of the epoch that a callback keeps

    def after_epoch(self, sparsity: float) -> None:
        """Record the callbacks for which this epoch, with this final sparsity, was the best so far."""
        for i, callback in enumerate(self._callbacks):
            if callback.best != self._best[i]:
                self._best[i] = callback.best
                self._sparsities[i] = sparsity

    def warn(self, final: float) -> bool:
        """Warn of every callback that keeps an epoch below the final sparsity; return whether there is any."""
        early = {i: kept for i, kept in self._sparsities.items() if kept < final - TOLERANCE}
        for i, sparsity in early.items():
            callback = self._callbacks[i]
            saves = isinstance(callback, keras.callbacks.ModelCheckpoint)
            keeps = f"{type(callback).__name__} {'saved' if saves else 'restores'}"
            remedy = "let it watch the epochs after the last mask only"
            text = f"sparsity: {keeps} an epoch of {sparsity:.3f}, not {final:.3f}: {remedy}"
            warnings.warn(text, stacklevel=3)
        return bool(early)


def require_best_keepers(callbacks: Iterable[keras.callbacks.Callback]) -> None:
    """Raise an `InputError` for a callback that does not keep the best epoch.

    >>> require_best_keepers([keras.callbacks.EarlyStopping(restore_best_weights=True)])
    """
    for callback in callbacks:
        keeps = any(
            getattr(callback, setting, False)
            for setting in ("save_best_only", "restore_best_weights")
        )
        expected = (
            "ModelCheckpoint(save_best_only=True) or EarlyStopping(restore_best_weights=True)"
        )
        require(keeps, "best_epochs", callback, expected)
