"""Making a member: train or compress it, predict with it, store it."""

import functools
import gzip
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import keras
import numpy as np
import pandas as pd
import tensorflow as tf

from tfaudit.compress.counts import counts
from tfaudit.compress.litert.inference import predict
from tfaudit.compress.litert.quantize import quantize
from tfaudit.compress.model_files import load_keras
from tfaudit.compress.pruning import schedules
from tfaudit.compress.pruning.hold_masks import HoldMasks
from tfaudit.compress.pruning.kernels import find_kernels, kernel_layers
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.compress.pruning.pruning import Pruning
from tfaudit.compress.pruning.pruning_method import PruningMethod
from tfaudit.compress.pruning.sparsity import sparsity_at
from tfaudit.datasets.dataset import Dataset
from tfaudit.errors import InputError
from tfaudit.population.stored_examples import load_splits
from tfaudit.population.training import Trainer, copy_variables
from tfaudit.store.parquet import prediction_bytes
from tfaudit.store.store import Store
from tfaudit.study.study import Study
from tfaudit.study.variants import Pruned, Quantized

REPRESENTATIVE_EXAMPLES = 100  # number of training examples that calibrate fixed-point quantization, [F] A
GRADIENT_BATCHES = 8  # number of training batches over which pruning methods average gradients


class MemberMaker:
    """Makes members of a study, one after another, in one process.

    It reuses data, compiled models and traced functions, yet a member depends on its seed alone. `splits` are the
    training and the test set; by default they are loaded.
    """

    def __init__(self, store: Store, splits: tuple[Dataset, Dataset] | None = None) -> None:
        self._store = store
        self._train, self._test = splits or load_splits(store.study)
        self._trainer = functools.cache(self._new_trainer)
        self._retrainer = functools.cache(self._new_retrainer)
        self._parent = functools.lru_cache(maxsize=1)(self._load)

    def prepare(self, key: str) -> None:
        """Build what all members of a variant share; a wrong setting, such as an unknown model, raises `InputError`."""
        variant = self._store.study.variant(key)
        if isinstance(variant, Pruned) and variant.parent:
            check_pruning(self._retrainer().model, variant)
        elif not isinstance(variant, Quantized):
            self._trainer(key)

    def make(self, key: str, member: int) -> None:
        """Make and store a member, whose parent, if it has one, must be in the store.

        An unfinished member does not count, whatever the failure.
        """
        started = time.monotonic()
        study = self._store.study
        variant = study.variant(key)
        path = functools.partial(self._store.member_path, key, member)
        files: dict[str, bytes] = {}
        if isinstance(variant, Quantized):
            images = self._train.head(REPRESENTATIVE_EXAMPLES)
            model = content = quantize(self._parent("dense", member), variant.kind, representative=images)
            files[path("model.tflite")] = content
            facts: dict[str, Any] = {"seed": study.member_seed("dense", member), **_counts(content), "sparsity": None}
        else:
            seed = study.member_seed(key, member)
            model, history = self._trained(key, member, seed)
            content = _model_bytes(model)
            files[path("model.keras")] = content
            files[path("history.csv")] = history.to_csv(index=False).encode()
            facts = {"seed": seed, **_counts(model)}
        ranked = predict(model, self._test, k=min(study.top_k, self._test.num_classes))
        files[self._store.prediction_path(key, member)] = prediction_bytes(ranked)
        facts |= {
            "accuracy": float(np.mean(ranked.classes[:, 0] == self._test.labels)),
            "bytes": len(content),
            "gzipped_bytes": len(gzip.compress(content, 6)),
            "seconds": round(time.monotonic() - started, 3),
        }
        self._store.save_member(key, member, files, facts)

    def _trained(self, key: str, member: int, seed: int) -> tuple[keras.Model, pd.DataFrame]:
        """Return a dense or pruned member and its history."""
        study = self._store.study
        variant, root_seed = study.variant(key), study.member_seed("dense", member)
        if not isinstance(variant, Pruned) or variant.parent is None:
            model = self._trainer(key).build(seed)
            return model, self._trainer(key).train(model, seed)
        model = self._load(variant.parent, member)

        def early() -> keras.Model:
            dense = self._trainer("dense")
            start = dense.build(root_seed)
            if variant.rewind_to:
                dense.train(start, root_seed, until=variant.rewind_to)
            return start

        decay = study.planned_training.weight_decay
        history = prune_and_retrain(
            variant, self._retrainer(), model, seed=seed, root_seed=root_seed, early=early, decay=decay
        )
        return model, history

    def _new_trainer(self, key: str) -> Trainer:
        study = self._store.study
        variant = study.variant(key)
        if isinstance(variant, Pruned):
            return gradual_trainer(study, variant, self._train)
        return Trainer(study, study.planned_training, self._train)

    def _new_retrainer(self) -> Trainer:
        study = self._store.study
        return Trainer(study, study.retraining or study.planned_training, self._train)

    def _load(self, key: str, member: int) -> keras.Model:
        path = self._store.member_path(key, member, "model.keras")
        self._store.read_checked(key, member, path)
        return load_keras(self._store.directory / path)


def _counts(model: keras.Model | bytes) -> dict[str, float | None]:
    """Return the numbers of parameters, zeros and operations; None where unknown."""
    return {name: None if value != value else value for name, value in counts(model).summary().items()}


def _model_bytes(model: keras.Model) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        model.save(path)
        return path.read_bytes()


def gradual_trainer(study: Study, variant: Pruned, data: Dataset) -> Trainer:
    """Return a trainer that prunes models while it trains them; the best epoch is one at the final sparsity."""
    trainer = Trainer(study, study.planned_training, data, best_from=variant.end)
    layers = _layers(trainer.model, variant)
    schedule = pruning_schedule(variant, _target_sparsity(trainer.model, variant, layers), trainer.steps)
    settings = _settings(variant, study.planned_training.weight_decay)
    examples = _examples(settings, trainer, study.seed)  # the same for all members, so that they share a trace
    trainer.callbacks.append(Pruning(schedule, layers=layers, gradient_data=examples, **settings))
    return trainer


def prune_and_retrain(
    variant: Pruned,
    trainer: Trainer,
    model: keras.Model,
    *,
    seed: int,
    root_seed: int,
    early: Callable[[], keras.Model],
    decay: float,
) -> pd.DataFrame:
    """Prune a member's parent in place, then train it according to the variant's treatment.

    Args:
        variant: with a parent.
        trainer: of the retraining.
        model: the parent, not compiled; becomes the member.
        seed: of the member.
        root_seed: of the dense member at the root, whose validation images must not be trained on.
        early: returns the dense member as it was at the step to rewind to.
        decay: weight decay of the dense training.

    Returns:
        The history, one row per epoch; no rows without retraining.
    """
    compiled = trainer.model
    copy_variables(model, compiled)
    layers = _layers(compiled, variant)
    settings = _settings(variant, decay)
    sparsity = _target_sparsity(compiled, variant, layers)
    examples = _examples(settings, trainer, seed, split_seed=root_seed)
    masks = prune(compiled, sparsity, layers=layers, gradient_data=examples, seed=seed, **settings)
    copy_variables(compiled, model)
    if variant.treatment == "one_shot":
        return pd.DataFrame({"epoch": []})
    if variant.treatment == "rewind":
        copy_variables(early(), model)
        for name, kernel in find_kernels(model).items():
            if name in masks:
                kernel.assign(np.where(masks[name], kernel.numpy(), 0))
    if trainer.callbacks:
        trainer.callbacks[0].masks = masks  # so that all members share a trace
    else:
        trainer.callbacks.append(HoldMasks(masks))
    return trainer.train(model, seed, split_seed=root_seed)


def pruning_schedule(variant: Pruned, sparsity: float, steps: int) -> schedules.Schedule:
    """Return the cubic schedule of gradual pruning; it ends on an update, so it reaches the sparsity.

    Example:
        >>> print(schedules.describe(pruning_schedule(Pruned(0.9, end=0.5, frequency=30), 0.9, steps=1000)))
        PolynomialDecay(..., final_sparsity=0.9, power=3, begin_step=0, end_step=480, frequency=30)
    """
    begin = min(round(variant.begin * steps), steps - 1)
    window = max(round(variant.end * steps) - begin, 1)
    frequency = min(variant.frequency or max(window // 100, 1), window)
    end = begin + window // frequency * frequency
    return schedules.polynomial(0.0, sparsity, begin, end, frequency)


def check_pruning(model: keras.Model, variant: Pruned) -> None:
    """Check that settings fit, layers exist and the ratio can be reached; raise `InputError` if not."""
    PruningMethod(**_settings(variant, 0.0))
    _target_sparsity(model, variant, _layers(model, variant))


def _layers(model: keras.Model, variant: Pruned) -> list[str] | None:
    """Return the names of the layers to prune; None for all."""
    if variant.spare:
        names = kernel_layers(model)
        for unknown in [name for name in variant.spare if name not in names][:1]:
            raise InputError("spare", f"{unknown!r}, no layer with a kernel", f"some of {', '.join(names)}")
        return [name for name in names if name not in variant.spare]
    return None if variant.layers is None else list(variant.layers)


def _settings(variant: Pruned, weight_decay: float) -> dict[str, Any]:
    """Return the arguments that `prune` and `Pruning` share."""
    names = ("method", "scope", "granularity", "axis", "gradient")
    decay = weight_decay if variant.decay is None else variant.decay
    return {name: getattr(variant, name) for name in names} | {"decay": decay}


def _examples(
    settings: dict[str, Any], trainer: Trainer, seed: int, *, split_seed: int | None = None
) -> tf.data.Dataset | None:
    """Return training batches for the scores; None for methods that use no examples, since batches take time."""
    if not PruningMethod(**settings).needs_data:
        return None
    return trainer.batches(seed, split_seed=split_seed).take(GRADIENT_BATCHES)


def _target_sparsity(model: keras.Model, variant: Pruned, layers: list[str] | None) -> float:
    """Return the sparsity of the pruned kernels that gives the variant's sparsity or ratio."""
    return cast(float, variant.sparsity) if variant.ratio is None else sparsity_at(model, variant.ratio, layers)
