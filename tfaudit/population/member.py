"""Making a member: train or compress it, predict with it, store it."""

import functools
import gzip
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import keras
import numpy as np
import pandas as pd
import tensorflow as tf

from tfaudit.audits.result import without_nan
from tfaudit.compress.batch_norm import recalibrate_batch_norm
from tfaudit.compress.calibration_data import CALIBRATION_IMAGES
from tfaudit.compress.counts import counts
from tfaudit.compress.keras_model import require_finite
from tfaudit.compress.last_layers import kept_layers
from tfaudit.compress.litert.convertible_layers import check_layers
from tfaudit.compress.litert.inference import predict_classifier
from tfaudit.compress.litert.quantize import quantize
from tfaudit.compress.pruning.hold_masks import HoldMasks
from tfaudit.compress.pruning.kernels import find_kernels, kernel_layers
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.compress.pruning.pruning import Pruning
from tfaudit.compress.pruning.pruning_method import PruningMethod
from tfaudit.compress.pruning.schedules import PolynomialDecay, Schedule
from tfaudit.compress.pruning.sparsity import sparsity_at
from tfaudit.datasets.dataset import Dataset, Splits
from tfaudit.datasets.fingerprint import Fingerprint
from tfaudit.datasets.representative import representative_part
from tfaudit.errors import InputError
from tfaudit.population.checkpoints import Checkpoint, CheckpointFile
from tfaudit.population.machine import peak_memory
from tfaudit.population.own_training import OwnTraining
from tfaudit.population.plan import CHECKPOINT, fork_name
from tfaudit.population.stored_examples import load_splits
from tfaudit.population.stored_models import load_member
from tfaudit.population.training import Trainer, copy_variables
from tfaudit.store.parquet import prediction_bytes
from tfaudit.store.store import Store
from tfaudit.study.quantization import DRAWN
from tfaudit.study.remedies import Remedy
from tfaudit.study.study import Study
from tfaudit.study.training import Training
from tfaudit.study.variants import Pruned, Quantized, Variant

GRADIENT_BATCHES = 8  # number of training batches over which pruning methods average gradients


AnyTrainer = Trainer | OwnTraining


class MemberMaker:
    """Makes members of a study, one after another, in one process.

    It reuses data, compiled models and traced functions, yet a member depends on its seed alone. `splits` are the
    training and the test set; by default they are loaded.
    """

    def __init__(self, store: Store, splits: Splits | None = None) -> None:
        self._store = store
        require_unchanged(store.study)
        self._train, self._test = splits or load_splits(store.study)
        store.require_same_data(train=Fingerprint.of(self._train), test=Fingerprint.of(self._test))
        self._trainer = functools.cache(self._new_trainer)
        self._remedy_trainer = functools.cache(self._new_remedy_trainer)
        self._load = functools.partial(load_member, store, data=self._train)
        self._parent = functools.lru_cache(maxsize=1)(self._load)
        self._callbacks: dict[Remedy, Any] = {}

    def prepare(self, key: str) -> None:
        """Build the parts that all members of a variant share; a wrong setting raises `InputError`."""
        variant = self._store.study.variant(key)
        if isinstance(variant, Pruned) and variant.parent:
            check_pruning(self._retrainer, variant)
        elif not isinstance(variant, Quantized):
            self._trainer(key)
        elif variant.remedies:
            self._remedy_trainer(key)

    def make(
        self,
        key: str,
        member: int,
        report: Callable[[int, bool], None] = lambda step, saved: None,
    ) -> None:
        """Make and store a member, whose parent, if it has one, must be in the store.

        An unfinished member does not count, whatever the failure. `report` is that of `CheckpointFile`.
        """
        started = time.monotonic()
        study = self._store.study
        variant = study.variant(key)
        path = functools.partial(self._store.member_path, key, member)
        checkpoint = CheckpointFile.of_member(
            self._store.directory / path(CHECKPOINT), study, key, member, report
        )
        files: dict[str, bytes] = {}
        if isinstance(variant, Quantized):
            # Without training it has no randomness of its own.
            seed = study.member_seed(key if variant.remedies else variant.after, member)
            model, history = self._quantized(variant, member, seed, checkpoint)
            content = files[path("model.tflite")] = model
            facts: dict[str, Any] = {"seed": seed, **_counts(model), "sparsity": None}
        else:
            seed = study.member_seed(key, member)
            model, history = self._trained(variant, member, seed, checkpoint)
            require_finite(model.weights)
            content = files[path("model.keras")] = model_bytes(model)
            facts = {"seed": seed, **_counts(model)}
            if key == "dense":
                forked = self._trainer(key).forked
                files |= {path(fork_name(step)): state for step, state in forked.items()}
        if history is not None:
            files[path("history.csv")] = history.to_csv(index=False).encode()
            facts["step_seconds"] = history.attrs.get("step_seconds")
        ranked = predict_classifier(model, self._test, k=min(study.top_k, self._test.num_classes))
        files[self._store.prediction_path(key, member)] = prediction_bytes(ranked)
        facts |= {
            "accuracy": float(np.mean(ranked.classes[:, 0] == self._test.labels)),
            "bytes": len(content),
            "gzipped_bytes": len(gzip.compress(content, 6)),
            "seconds": round(time.monotonic() - started, 3),
            "peak_bytes": _peak_memory(),
        }
        self._store.save_member(key, member, files, facts)
        checkpoint.remove()

    def _quantized(
        self, variant: Quantized, member: int, seed: int, checkpoint: CheckpointFile | None
    ) -> tuple[bytes, pd.DataFrame | None]:
        """Return the flatbuffer of a member, and its history if it is trained for int8 first."""
        parent = self._parent(variant.after, member)
        kept = variant.float_layers
        history = None
        if variant.remedies:
            parent = _copy_to_train(variant, parent)
            kept = ()
            split_seed = self._store.study.member_seed(variant.after, member)
            history = self._remedy_trainer(variant.key).train(
                parent, seed, split_seed=split_seed, checkpoint=checkpoint
            )
        content = quantize(
            parent,
            variant.kind,
            representative=self._calibration_examples(variant),
            float_layers=kept,
            percentile=variant.percentile,
            per_channel=variant.per_channel,
            sparse=variant.sparse,
            io=variant.io,
        )
        return content, history

    def _calibration_examples(self, variant: Quantized) -> Any:
        """Return the training examples with which a variant is quantized, or compared with Keras only."""
        if variant.is_calibrated and variant.calibration == DRAWN:
            return self._drawn
        return self._train.head(CALIBRATION_IMAGES)

    @functools.cached_property
    def _drawn(self) -> Any:
        """Training examples of every class, drawn with the study's seed; a stream is read once for them."""
        seed = abs(self._store.study.seed)
        return representative_part(self._train, CALIBRATION_IMAGES, seed).held

    def _trained(
        self, variant: Variant, member: int, seed: int, checkpoint: CheckpointFile | None
    ) -> tuple[keras.Model, pd.DataFrame]:
        """Return a dense or pruned member and its history."""
        if variant.parent is None:
            trainer = self._trainer(variant.key)
            split_seed = seed
            model = trainer.build(seed)
            fork = self._fork(variant, member)
            history = trainer.train(model, seed, checkpoint=checkpoint, fork=fork)
        else:
            trainer = self._retrainer
            split_seed = self._store.study.member_seed("dense", member)
            model = self._load(variant.parent, member)
            history = self._retrained(
                cast(Pruned, variant), model, member, seed, split_seed, checkpoint
            )
        if isinstance(variant, Pruned) and variant.batch_norm == "recalibrated":
            recalibrate_batch_norm(model, trainer.full_batches(seed, split_seed=split_seed))
        return model, history

    def _fork(self, variant: Variant, member: int) -> Checkpoint | None:
        """Return the state of a dense member that a forked variant's member continues, None if there is none."""
        study = self._store.study
        if variant not in study.forked:
            return None
        step = cast(Trainer, self._trainer(variant.key)).dense_steps(cast(Pruned, variant))
        path = self._store.directory / self._store.member_path("dense", member, fork_name(step))
        return CheckpointFile.of_member(path, study, "dense", member).load()

    def _retrained(
        self,
        variant: Pruned,
        model: keras.Model,
        member: int,
        seed: int,
        dense_seed: int,
        checkpoint: CheckpointFile | None,
    ) -> pd.DataFrame:
        """Prune and retrain a member's parent in place, and return the history."""

        def early() -> keras.Model:
            dense = self._trainer("dense")
            start = dense.build(dense_seed)
            if variant.rewind_to:
                dense.train(start, dense_seed, until=variant.rewind_to)
            return start

        return prune_and_retrain(
            variant,
            self._retrainer,
            model,
            seed=seed,
            split_seed=dense_seed,
            early=early,
            remedies=[self._callback(remedy, member) for remedy in variant.remedies],
            checkpoint=checkpoint,
        )

    def _callback(self, remedy: Any, member: int) -> keras.callbacks.Callback:
        """Return the callback of all members, whose traced functions they share, with this member's teacher."""
        dense = self._parent("dense", member)
        if remedy not in self._callbacks:
            self._callbacks[remedy] = remedy.callback(dense)
        self._callbacks[remedy].teacher = dense
        return self._callbacks[remedy]

    def _new_trainer(self, key: str) -> AnyTrainer:
        study = self._store.study
        variant = study.variant(key)
        if isinstance(variant, Pruned):
            return gradual_trainer(study, variant, self._train)
        trainer = trainer_of(study, study.planned_training, self._train)
        if isinstance(trainer, Trainer):
            trainer.fork_steps = set(map(trainer.dense_steps, study.forked)) - {0}
        for other in study.variants:
            if isinstance(other, Quantized):
                _check_conversion(trainer.model, other)
        return trainer

    @functools.cached_property
    def _retrainer(self) -> AnyTrainer:
        study = self._store.study
        return trainer_of(study, study.planned_retraining, self._train)

    def _new_remedy_trainer(self, key: str) -> Trainer:
        study = self._store.study
        variant = cast(Quantized, study.variant(key))
        training = study.planned_retraining
        if not isinstance(training, Training):
            got = f"a training function with the remedy {variant.remedies[0].name!r}"
            raise InputError("retraining", got, "a tfaudit.Training")
        return Trainer(
            study, training, self._train, rewrite=functools.partial(_copy_to_train, variant)
        )


def _check_conversion(model: keras.Model, variant: Quantized) -> None:
    """Raise an `InputError` if a model, trained or not, has layers that cannot be quantized as a variant says."""
    if variant.remedies:
        variant.remedies[0].check(model, variant.float_layers)
    else:
        check_layers(model, variant.kind)
        kept_layers(model, variant.float_layers)


def _copy_to_train(variant: Quantized, model: keras.Model) -> keras.Model:
    """Return the copy of a model that the remedy of a variant trains before it is quantized."""
    return cast(keras.Model, variant.remedies[0].copy(model, variant.float_layers))


def _counts(model: keras.Model | bytes) -> dict[str, float | None]:
    """Return the numbers of parameters, zeros and operations; None if unknown."""
    return without_nan(counts(model).summary())


def _peak_memory() -> float:
    """Return the most bytes of memory that this process has held: of its GPU if it has one, else of the machine."""
    gpus = tf.config.list_logical_devices("GPU")
    peaks = [tf.config.experimental.get_memory_info(gpu.name)["peak"] for gpu in gpus]
    return max(peaks, default=peak_memory())


def model_bytes(model: keras.Model) -> bytes:
    """Return the content of a model's `.keras` file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        model.save(path)
        return path.read_bytes()


def trainer_of(
    study: Study, training: Training | str, data: Dataset, *, best_from: float = 0.0
) -> AnyTrainer:
    """Return the trainer for a training, or for a function by its reference; `best_from` as in `Trainer`."""
    if isinstance(training, Training):
        return Trainer(study, training, data, best_from=best_from)
    return OwnTraining(study, training, data)


def gradual_trainer(study: Study, variant: Pruned, data: Dataset) -> AnyTrainer:
    """Return a trainer that prunes models while it trains them; the best epoch has the final sparsity."""
    defaults = Pruned(0.5)
    names = ("begin", "end", "frequency")
    changed = [name for name in names if getattr(variant, name) != getattr(defaults, name)]
    if isinstance(study.training, str) and changed:  # the number of its steps is unknown
        got = f"{', '.join(changed)} of {variant.key!r} with a training function"
        raise InputError(
            "variants", got, "the defaults with a training function, or a tfaudit.Training"
        )
    trainer = trainer_of(study, study.planned_training, data, best_from=variant.end)
    sparsity = _set_goal(trainer, variant)
    schedule: Schedule | float = sparsity
    if isinstance(trainer, Trainer):
        schedule = pruning_schedule(variant, sparsity, trainer.steps)
    method = _method(variant, study)
    # The same for all members, so that they share a trace.
    examples = _examples(method, trainer, study.seed)
    trainer.callbacks.append(
        Pruning(schedule, layers=trainer.layers, gradient_data=examples, **asdict(method))
    )
    return trainer


def prune_and_retrain(
    variant: Pruned,
    trainer: AnyTrainer,
    model: keras.Model,
    *,
    seed: int,
    early: Callable[[], keras.Model],
    split_seed: int | None = None,
    remedies: Sequence[keras.callbacks.Callback] = (),
    checkpoint: CheckpointFile | None = None,
) -> pd.DataFrame:
    """Prune a member's parent in place, then train it according to the variant's treatment.

    Args:
        variant: variant with a parent.
        trainer: trainer of the retraining.
        model: the parent, not compiled; becomes the member.
        seed: seed of the member.
        early: function that returns the dense member as it was at the step to rewind to.
        split_seed: seed of the dense ancestor, whose validation images must not be trained on; `seed` by default.
        remedies: callbacks of the retraining; none by default.
        checkpoint: file of the retraining's checkpoints; none by default.

    Returns:
        The history, one row per epoch; no rows without retraining.
    """
    compiled = trainer.model
    copy_variables(model, compiled)
    sparsity = _set_goal(trainer, variant)
    method = _method(variant, trainer.study, seed)
    examples = _examples(method, trainer, seed, split_seed)
    masks = prune(
        compiled, sparsity, layers=trainer.layers, gradient_data=examples, **asdict(method)
    )
    copy_variables(compiled, model)
    if variant.treatment == "one_shot":
        return pd.DataFrame({"epoch": []})
    if variant.treatment == "rewind":
        copy_variables(early(), model)
        # By position: Keras numbers the layers that have no name from model to model.
        for name, kernel in zip(find_kernels(compiled), find_kernels(model).values(), strict=True):
            if name in masks:
                kernel.assign(np.where(masks[name], kernel.numpy(), 0))
    if trainer.callbacks:
        trainer.callbacks[0].masks = masks  # so that all members share a trace
    else:
        trainer.callbacks.append(HoldMasks(masks))
    trainer.callbacks[1:] = remedies
    return trainer.train(model, seed, split_seed=split_seed, checkpoint=checkpoint)


def pruning_schedule(variant: Pruned, sparsity: float, steps: int) -> PolynomialDecay:
    """Return the cubic schedule of gradual pruning; it ends on an update, so it reaches the sparsity.

    Example:
        >>> pruning_schedule(Pruned(0.9, end=0.5, frequency=30), 0.9, steps=1000)
        PolynomialDecay(..., final_sparsity=0.9, begin_step=0, end_step=480, power=3, frequency=30)
    """
    begin = variant.begin_step(steps)
    window = max(round(variant.end * steps) - begin, 1)
    frequency = min(variant.frequency or max(window // 100, 1), window)
    end = begin + window // frequency * frequency
    return PolynomialDecay(0.0, sparsity, begin, end, frequency=frequency)


def require_unchanged(study: Study) -> None:
    """Raise an `InputError` if a file of the study's own code or model has changed since the run began."""
    now = study.with_fingerprints()
    if source := study.changed_source(now):
        raise InputError(
            study.argument_of(source),
            f"{source}, which changed during the run",
            "an unchanged file",
        )


def check_pruning(trainer: AnyTrainer, variant: Pruned) -> None:
    """Check that settings fit, layers exist and the ratio can be reached; raise `InputError` if not."""
    _method(variant, trainer.study)
    _set_goal(trainer, variant)


def _set_goal(trainer: AnyTrainer, variant: Pruned) -> float:
    """Set the layers that a trainer prunes, and set and return their sparsity, from the variant's sparsity or ratio."""
    model = trainer.model
    trainer.layers = _layers(model, variant)
    if variant.ratio is None:
        sparsity = cast(float, variant.sparsity)
    else:
        sparsity = sparsity_at(
            model, variant.ratio, trainer.layers, count_biases=variant.count_biases
        )
    trainer.sparsity = sparsity
    return sparsity


def _layers(model: keras.Model, variant: Pruned) -> list[str] | None:
    """Return the names of the layers to prune; None for all."""
    if variant.unpruned_layers:
        names = kernel_layers(model)
        for unknown in [name for name in variant.unpruned_layers if name not in names][:1]:
            raise InputError(
                "unpruned_layers",
                f"{unknown!r}, no layer with a kernel",
                f"names among {', '.join(names)}",
            )
        return [name for name in names if name not in variant.unpruned_layers]
    return None if variant.layers is None else list(variant.layers)


def _method(variant: Pruned, study: Study, seed: int = 0) -> PruningMethod:
    """Return the settings that `prune` and `Pruning` share; by default weights decay as in the dense training."""
    training = study.training
    decay = variant.decay
    if decay is None:
        decay = training.weight_decay if isinstance(training, Training) else 0.0
    return PruningMethod(
        method=variant.method,
        scope=variant.scope,
        granularity=variant.granularity,
        axis=variant.axis,
        gradient=variant.gradient,
        decay=decay,
        seed=seed,
    )


def _examples(
    method: PruningMethod, trainer: AnyTrainer, seed: int, split_seed: int | None = None
) -> tf.data.Dataset | None:
    """Return training batches for the scores; None for methods that use no examples, since batches take time."""
    if not method.needs_data:
        return None
    return trainer.batches(seed, split_seed=split_seed).take(GRADIENT_BATCHES)
