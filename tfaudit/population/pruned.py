"""Pruned members: pruned while they train, or at one blow from a parent and trained on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import keras
import numpy as np
import pandas as pd
import tensorflow as tf

from tfaudit.compress.pruning.hold_masks import HoldMasks
from tfaudit.compress.pruning.kernels import find_kernels, kernel_layers
from tfaudit.compress.pruning.pruning import Pruning, prune
from tfaudit.compress.pruning.pruning_method import Technique
from tfaudit.compress.pruning.sparsity import sparsity_at
from tfaudit.datasets.dataset import Dataset
from tfaudit.errors import InputError
from tfaudit.population.trainer import Trainer, copy_variables, pruning_schedule
from tfaudit.study.study import Study
from tfaudit.study.variants import Pruned

__all__ = ["check_variant", "chosen_layers", "gradual_trainer", "prune_at_once", "target_sparsity"]

GRADIENT_BATCHES = 8
"""Training batches over which methods that need gradients average them."""


def gradual_trainer(study: Study, variant: Pruned, data: Dataset) -> Trainer:
    """Trains models from scratch that a variant prunes meanwhile; the best epoch is one at the final sparsity."""
    trainer = Trainer(study, study.planned_training, data, keep_from=variant.end)
    layers = chosen_layers(trainer.model, variant)
    schedule = pruning_schedule(variant, target_sparsity(trainer.model, variant, layers), trainer.steps)
    settings = _settings(variant, study.planned_training.weight_decay)
    examples = _examples(settings, trainer, study.seed)  # the same for all members: traced once
    trainer.callbacks.append(Pruning(schedule, layers=layers, gradient_data=examples, **settings))
    return trainer


def prune_at_once(
    variant: Pruned,
    trainer: Trainer,
    model: keras.Model,
    *,
    seed: int,
    root_seed: int,
    early: Callable[[], keras.Model],
    decay: float,
) -> pd.DataFrame:
    """Prunes the parent of a member in place, and trains it as the variant's treatment says.

    Args:
        variant: what to do.
        trainer: of the retraining.
        model: the parent, not compiled; becomes the member.
        seed: of the member.
        root_seed: of the dense member at the root; its validation images stay unseen.
        early: the dense member as it was at the step to rewind to.
        decay: weight decay of the dense training.

    Returns:
        The history, one row an epoch; no rows where nothing is trained.
    """
    compiled = trainer.model
    copy_variables(model, compiled)
    layers = chosen_layers(compiled, variant)
    settings = _settings(variant, decay)
    masks = prune(
        compiled,
        target_sparsity(compiled, variant, layers),
        layers=layers,
        gradient_data=_examples(settings, trainer, seed, split_seed=root_seed),
        seed=seed,
        **settings,
    )
    copy_variables(compiled, model)
    if variant.treatment == "one_shot":
        return pd.DataFrame({"epoch": []})
    if variant.treatment == "rewind":
        copy_variables(early(), model)
        for name, kernel in find_kernels(model).items():
            if name in masks:
                kernel.assign(np.where(masks[name], kernel.numpy(), 0))
    if trainer.callbacks:
        trainer.callbacks[0].masks = masks  # traced once for all members
    else:
        trainer.callbacks.append(HoldMasks(masks))
    return trainer.train(model, seed, split_seed=root_seed)


def check_variant(model: keras.Model, variant: Pruned) -> None:
    """Refuses a variant that no member can be made of, before any is.

    Raises:
        InputError: settings that do not go together, layers that are not there, a ratio that cannot be reached.
    """
    Technique(**_settings(variant, 0.0))
    target_sparsity(model, variant, chosen_layers(model, variant))


def chosen_layers(model: keras.Model, variant: Pruned) -> list[str] | None:
    """Names of the layers that a variant prunes; None for all."""
    if variant.spare:
        names = kernel_layers(model)
        unknown = [name for name in variant.spare if name not in names]
        if unknown:
            raise InputError(f"spare: no layer {unknown[0]!r} with a kernel; there are {', '.join(names)}")
        return [name for name in names if name not in variant.spare]
    return None if variant.layers is None else list(variant.layers)


def _settings(variant: Pruned, weight_decay: float) -> dict[str, Any]:
    """What `prune` and `Pruning` are told alike."""
    names = ("method", "scope", "granularity", "axis", "gradient")
    decay = weight_decay if variant.decay is None else variant.decay
    return {name: getattr(variant, name) for name in names} | {"decay": decay}


def _examples(
    settings: dict[str, Any], trainer: Trainer, seed: int, *, split_seed: int | None = None
) -> tf.data.Dataset | None:
    """What scores are taken over; None where the method asks for no examples, whose batches are not free."""
    if not Technique(**settings).needs_data:
        return None
    return trainer.batches(seed, split_seed=split_seed).take(GRADIENT_BATCHES)


def target_sparsity(model: keras.Model, variant: Pruned, layers: list[str] | None) -> float:
    """The sparsity of the pruned kernels that a variant asks for, by itself or by its ratio."""
    if variant.ratio is not None:
        return sparsity_at(model, variant.ratio, layers)
    return cast(float, variant.sparsity)
