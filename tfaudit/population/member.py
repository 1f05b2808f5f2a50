"""Making a member: train or compress it, predict with it, store it."""

import functools
import gzip
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import keras
import numpy as np
import pandas as pd
import tensorflow as tf

from tfaudit.compress.batch_norm import recalibrate_batch_norm
from tfaudit.compress.counts import counts
from tfaudit.compress.litert.inference import predict_classifier
from tfaudit.compress.litert.quantize import kept_layers, quantize
from tfaudit.compress.pruning import schedules
from tfaudit.compress.pruning.hold_masks import HoldMasks
from tfaudit.compress.pruning.kernels import find_kernels, kernel_layers
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.compress.pruning.pruning import Pruning
from tfaudit.compress.pruning.pruning_method import PruningMethod
from tfaudit.compress.pruning.sparsity import sparsity_at
from tfaudit.compress.quantization_aware.quantization_aware import quantization_aware
from tfaudit.datasets.dataset import Dataset
from tfaudit.errors import InputError
from tfaudit.population.own_training import OwnTraining
from tfaudit.population.remedies import MemberRemedies, check_remedies
from tfaudit.population.stored_examples import load_splits
from tfaudit.population.stored_models import load_member
from tfaudit.population.training import Trainer, copy_variables
from tfaudit.store.parquet import prediction_bytes
from tfaudit.store.store import Store
from tfaudit.study.study import Study
from tfaudit.study.training import Training
from tfaudit.study.variants import Pruned, Quantized

# Number of training examples that calibrate fixed-point quantization, [F] A.
REPRESENTATIVE_EXAMPLES = 100
GRADIENT_BATCHES = 8  # number of training batches over which pruning methods average gradients


AnyTrainer = Trainer | OwnTraining


class MemberMaker:
    """Makes members of a study, one after another, in one process.

    It reuses data, compiled models and traced functions, yet a member depends on its seed alone. `splits` are the
    training and the test set; by default they are loaded.
    """

    def __init__(self, store: Store, splits: tuple[Dataset, Dataset] | None = None) -> None:
        self._store = store
        require_unchanged(store.study)
        self._train, self._test = splits or load_splits(store.study)
        self._trainer = functools.cache(self._new_trainer)
        self._retrainer = functools.cache(self._new_retrainer)
        self._parent = functools.lru_cache(maxsize=1)(self._load)
        self._remedies = functools.cache(MemberRemedies)
        self._aware_trainer = functools.cache(self._new_aware_trainer)

    def prepare(self, key: str) -> None:
        """Build what all members of a variant share; a wrong setting, such as an unknown model, raises `InputError`."""
        variant = self._store.study.variant(key)
        if isinstance(variant, Pruned) and variant.parent:
            check_pruning(self._retrainer().model, variant)
            check_own_training(self._store.study, variant)
            check_remedies(self._store.study, variant.remedies, self._train)
        elif not isinstance(variant, Quantized):
            self._trainer(key)
        elif variant.remedies:
            self._aware_trainer(key)
        elif variant.keep_float:
            kept_layers(self._trainer("dense").model, variant.keep_float)

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
            seed = study.member_seed(key, member)
            root_seed = study.member_seed(variant.after, member)
            parent = self._parent(variant.after, member)
            kept = variant.keep_float
            if variant.remedies:
                parent = _aware(parent, variant)
                kept = ()
                history = self._aware_trainer(key).train(parent, seed, split_seed=root_seed)
                files[path("history.csv")] = history.to_csv(index=False).encode()
            model = content = quantize(
                parent,
                variant.kind,
                representative=self._train.head(REPRESENTATIVE_EXAMPLES),
                keep_float=kept,
                percentile=variant.percentile,
                sparse=variant.sparse,
            )
            files[path("model.tflite")] = content
            own_seed = seed if variant.remedies else root_seed
            facts: dict[str, Any] = {"seed": own_seed, **_counts(content), "sparsity": None}
        else:
            seed = study.member_seed(key, member)
            model, history = self._trained(key, member, seed)
            if isinstance(variant, Pruned) and variant.batch_norm == "recalibrated":
                recalibrate_batch_norm(model, self._full_batches(key, member))
            content = model_bytes(model)
            files[path("model.keras")] = content
            files[path("history.csv")] = history.to_csv(index=False).encode()
            facts = {"seed": seed, **_counts(model)}
        ranked = predict_classifier(model, self._test, k=min(study.top_k, self._test.num_classes))
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
        variant = study.variant(key)
        root_seed = study.member_seed("dense", member)
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

        decay = _weight_decay(study.planned_training)
        remedies: list[keras.callbacks.Callback] = []
        if variant.remedies:
            check_remedies(study, variant.remedies, self._train)
            dense = self._parent("dense", member)
            held_out = functools.partial(self._retrainer().held_out, root_seed)
            remedies = self._remedies(variant.remedies).callbacks(dense, held_out)
        settings: dict[str, Any] = {
            "seed": seed,
            "root_seed": root_seed,
            "early": early,
            "decay": decay,
        }
        history = prune_and_retrain(
            variant, self._retrainer(), model, remedies=remedies, **settings
        )
        return model, history

    def _full_batches(self, key: str, member: int) -> tf.data.Dataset:
        """Return batches of what a member was trained on."""
        study = self._store.study
        seed = study.member_seed(key, member)
        if study.variant(key).parent is None:
            return self._trainer(key).full_batches(seed)
        return self._retrainer().full_batches(seed, split_seed=study.member_seed("dense", member))

    def _new_trainer(self, key: str) -> AnyTrainer:
        study = self._store.study
        variant = study.variant(key)
        if isinstance(variant, Pruned):
            return gradual_trainer(study, variant, self._train)
        return trainer_of(study, study.planned_training, self._train)

    def _new_retrainer(self) -> AnyTrainer:
        study = self._store.study
        return trainer_of(study, study.retraining or study.planned_training, self._train)

    def _new_aware_trainer(self, key: str) -> Trainer:
        study = self._store.study
        variant = cast(Quantized, study.variant(key))
        training = study.retraining or study.planned_training
        if not isinstance(training, Training):
            got = f"a training function with the remedy {variant.remedies[0].name!r}"
            raise InputError("retraining", got, "a tfaudit.Training")
        return Trainer(study, training, self._train, rewrite=lambda model: _aware(model, variant))

    def _load(self, key: str, member: int) -> keras.Model:
        return load_member(self._store, key, member, self._train)


def _aware(model: keras.Model, variant: Quantized) -> keras.Model:
    """Return a copy of a model that trains for int8 as a variant says."""
    return quantization_aware(
        model, keep_float=variant.keep_float, **variant.remedies[0].settings()
    )


def _counts(model: keras.Model | bytes) -> dict[str, float | None]:
    """Return the numbers of parameters, zeros and operations; None where unknown."""
    return {
        name: None if value != value else value for name, value in counts(model).summary().items()
    }


def model_bytes(model: keras.Model) -> bytes:
    """Return the content of a model's `.keras` file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        model.save(path)
        return path.read_bytes()


def trainer_of(
    study: Study, training: Training | str, data: Dataset, *, best_from: float = 0.0
) -> AnyTrainer:
    """Return the trainer of a training, or of the function that a reference names; `best_from` as in `Trainer`."""
    if isinstance(training, Training):
        return Trainer(study, training, data, best_from=best_from)
    return OwnTraining(study, training, data)


def gradual_trainer(study: Study, variant: Pruned, data: Dataset) -> AnyTrainer:
    """Return a trainer that prunes models while it trains them; the best epoch is one at the final sparsity."""
    check_own_training(study, variant)
    trainer = trainer_of(study, study.planned_training, data, best_from=variant.end)
    layers = _layers(trainer.model, variant)
    sparsity = _target_sparsity(trainer.model, variant, layers)
    if isinstance(trainer, OwnTraining):  # its number of steps is known in its fit only
        schedule: schedules.Schedule | float = sparsity
        trainer.sparsity, trainer.layers = sparsity, layers
    else:
        schedule = pruning_schedule(variant, sparsity, trainer.steps)
    settings = _settings(variant, _weight_decay(study.planned_training))
    examples = _examples(
        settings, trainer, study.seed
    )  # the same for all members, so that they share a trace
    trainer.callbacks.append(Pruning(schedule, layers=layers, gradient_data=examples, **settings))
    return trainer


def prune_and_retrain(
    variant: Pruned,
    trainer: AnyTrainer,
    model: keras.Model,
    *,
    seed: int,
    root_seed: int,
    early: Callable[[], keras.Model],
    decay: float,
    remedies: Sequence[keras.callbacks.Callback] = (),
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
        remedies: callbacks of the retraining.

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
        # By position: Keras numbers the layers that have no name from model to model.
        for name, kernel in zip(find_kernels(compiled), find_kernels(model).values(), strict=True):
            if name in masks:
                kernel.assign(np.where(masks[name], kernel.numpy(), 0))
    if isinstance(trainer, OwnTraining):
        trainer.sparsity, trainer.layers = sparsity, layers
    if trainer.callbacks:
        trainer.callbacks[0].masks = masks  # so that all members share a trace
    else:
        trainer.callbacks.append(HoldMasks(masks))
    trainer.callbacks[1:] = remedies
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


def check_own_training(study: Study, variant: Pruned) -> None:
    """Refuse what a training function's unknown number of steps cannot give; raise `InputError`."""
    defaults = Pruned(0.5)
    changed = [
        name
        for name in ("begin", "end", "frequency")
        if getattr(variant, name) != getattr(defaults, name)
    ]
    if variant.treatment == "gradual" and isinstance(study.training, str) and changed:
        got = f"{', '.join(changed)} of {variant.key!r} with a training function"
        raise InputError("variants", got, "the defaults there, or a tfaudit.Training")


def require_unchanged(study: Study) -> None:
    """Raise an `InputError` if a file of the study's own code or model is another than when the run began."""
    now = study.with_fingerprints()
    if source := study.changed_source(now):
        raise InputError(
            study.argument_of(source),
            f"{source}, which changed during the run",
            "the file as it was",
        )


def _weight_decay(training: Training | str) -> float:
    return training.weight_decay if isinstance(training, Training) else 0.0


def check_pruning(model: keras.Model, variant: Pruned) -> None:
    """Check that settings fit, layers exist and the ratio can be reached; raise `InputError` if not."""
    PruningMethod(**_settings(variant, 0.0))
    _target_sparsity(model, variant, _layers(model, variant))


def _layers(model: keras.Model, variant: Pruned) -> list[str] | None:
    """Return the names of the layers to prune; None for all."""
    if variant.spare:
        names = kernel_layers(model)
        for unknown in [name for name in variant.spare if name not in names][:1]:
            raise InputError(
                "spare", f"{unknown!r}, no layer with a kernel", f"some of {', '.join(names)}"
            )
        return [name for name in names if name not in variant.spare]
    return None if variant.layers is None else list(variant.layers)


def _settings(variant: Pruned, weight_decay: float) -> dict[str, Any]:
    """Return the arguments that `prune` and `Pruning` share."""
    names = ("method", "scope", "granularity", "axis", "gradient")
    decay = weight_decay if variant.decay is None else variant.decay
    return {name: getattr(variant, name) for name in names} | {"decay": decay}


def _examples(
    settings: dict[str, Any], trainer: AnyTrainer, seed: int, *, split_seed: int | None = None
) -> tf.data.Dataset | None:
    """Return training batches for the scores; None for methods that use no examples, since batches take time."""
    if not PruningMethod(**settings).needs_data:
        return None
    return trainer.batches(seed, split_seed=split_seed).take(GRADIENT_BATCHES)


def _target_sparsity(model: keras.Model, variant: Pruned, layers: list[str] | None) -> float:
    """Return the sparsity of the pruned kernels that gives the variant's sparsity or ratio."""
    if variant.ratio is None:
        return cast(float, variant.sparsity)
    return sparsity_at(model, variant.ratio, layers, count_biases=variant.count_biases)
