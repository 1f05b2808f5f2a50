"""How candidates are made: pruning, fine-tuning, shrinking, training for int8, conversion.

They are trained by the functions that make the members of a population, but in this process instead of an engine's
workers: what comes next depends on the verdict on the last one, and a budget ends a training between two steps.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import Any, cast

import keras
import numpy as np

from tfaudit.compress.batch_norm import recalibrate_batch_norm
from tfaudit.compress.keras_model import KerasForward
from tfaudit.compress.litert.conversions import Conversions
from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.compress.model_files import load_keras
from tfaudit.compress.pruning.kernels import find_kernels, kernel_layers, owners
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.representative import representative_part
from tfaudit.datasets.structure import leaves
from tfaudit.extensions import PUBLIC_NAMES
from tfaudit.extensions.search.candidate_store import CandidateStore
from tfaudit.extensions.search.candidates import INT8, Candidate, Preparation
from tfaudit.extensions.search.search_inputs import SearchInputs
from tfaudit.population.member import model_bytes, prune_and_retrain
from tfaudit.population.training import Trainer
from tfaudit.predictions import Predictions
from tfaudit.study.quantization import FLOAT, LAST
from tfaudit.study.study import Study
from tfaudit.study.training import Training
from tfaudit.study.variants import Pruned

SENSITIVITY_EXAMPLES = 1000
SENSITIVITY_VALUES = 20_000_000
"""Most examples of the selection part, and about most numbers in them, on which the cost of layers is measured."""


class OutOfTimeError(BaseException):
    """The budget ended during the step that the message names; like KeyboardInterrupt, not an `Exception`."""


class CandidateMaker:
    """Makes the flatbuffers of candidates; models are trained once and kept in the store.

    Args:
        inputs: model, data and settings of the search.
        store: store of the candidates.
        is_over: returns whether the budget has ended.
    """

    def __init__(
        self, inputs: SearchInputs, store: CandidateStore, *, is_over: Callable[[], bool]
    ) -> None:
        self._source, self._parts, self._settings = inputs.source, inputs.parts, inputs.settings
        self._store, self._is_over = store, is_over
        self._opened = functools.lru_cache(maxsize=1)(self._open)
        self._conversions = functools.lru_cache(maxsize=1)(self._converted)

    def flatbuffer(self, candidate: Candidate) -> bytes:
        """Return a candidate's flatbuffer.

        Raises:
            ConversionError: TensorFlow Lite cannot make the file or cannot run it.
            InputError: the model cannot be trained for int8.
            OutOfTimeError: the budget ended before it was made.
        """
        types = self.layer_types(candidate)
        return self._conversions(candidate.preparation).file(
            candidate.kind,
            sparse=candidate.sparse,
            percentile=candidate.percentile,
            per_channel=not candidate.per_tensor,
            io=INT8 if self._settings.full_integer else FLOAT,
            float_layers=LAST
            if candidate.last
            else [name for name in types if types[name] == FLOAT],
            layer_types={name: dtype for name, dtype in types.items() if dtype != FLOAT},
        )

    def layer_types(self, candidate: Candidate) -> dict[str, str]:
        """Return the types of the layers of a candidate that differ from the others; measure their costs if needed.

        Raises:
            InputError: too few layers are small enough.
            ConversionError: TensorFlow Lite cannot convert the model.
            OutOfTimeError: the budget ended before all layers were measured; finished measurements are stored.
        """
        if not candidate.layers:
            return {}
        model = self._source.model
        weights = dict.fromkeys(kernel_layers(model), 0)
        kernels = find_kernels(model)
        for name, layer in owners(model, kernels).items():
            weights[layer.name] += int(np.prod(kernels[name].shape))
        types: dict[str, str] = candidate.layers.types(self._costs(candidate.layers), weights)
        return types

    def is_measured(self, kind: str = INT8) -> bool:
        """Return whether the cost of every layer has been measured."""
        return bool(self._store.sensitivity(kind)["complete"])

    def is_trained(self, preparation: Preparation) -> bool:
        """Return whether a candidate's model is ready: trained already, or used without training."""
        return not preparation.key or self._store.predictions(preparation.key) is not None

    def predictions(self, preparation: Preparation) -> Predictions:
        """Return the predictions of a trained model on the selection part, before it is quantized; train it if needed.

        Raises:
            InputError: the model cannot be trained for int8.
            OutOfTimeError: the budget ended before it was trained.
        """
        stored = self._store.predictions(preparation.key)
        if stored is not None:
            return stored
        model = (
            self._trained_for_int8(preparation)
            if preparation.quantization_aware
            else self._pruned(preparation)
        )
        ranked = self._settings.ranked(self._forward(model), self._parts.selection)
        content = model_bytes(model)
        return self._store.save(preparation.key, ranked, len(content), keras=content)

    def _costs(self, choice: Any) -> dict[str, Any]:
        """Return rows with the cost of each layer for a choice of layers; measure what is not stored yet."""
        kind = choice.kind
        measured = self._store.sensitivity(kind)
        if measured["complete"]:
            return measured
        model, settings, selection = self._source.model, self._settings, self._parts.selection
        size = sum(values[:1].size for _, values in leaves(selection.held))
        most = min(SENSITIVITY_EXAMPLES, max(1, SENSITIVITY_VALUES // size))
        data = representative_part(selection, most, settings.seed)
        names = kernel_layers(model)
        check = self._check("was measured layer by layer")
        layered = choice.layered(
            model,
            self._conversions(Preparation()),
            names,
            lambda made: Predictions.on(data, settings.ranked(self._forward(made), data)),
        )
        measured["bytes"] = layered.size
        for layer in names[len(measured["rows"]) :]:
            check()
            measured["rows"].append({"layer": layer} | choice.figures(layered, layer))
            measured["complete"] = layer == names[-1]
            self._store.save_sensitivity(measured, kind)
        return measured

    def _forward(self, model: keras.Model | bytes) -> KerasForward | Flatbuffer:
        """Return the inference of a model, or of a file."""
        if isinstance(model, bytes):
            return self._settings.file(model)
        is_source = model is self._source.model
        return self._source.forward if is_source else KerasForward(model, self._settings.output)

    def _check(self, doing: str) -> Callable[[], None]:
        def check() -> None:
            if self._is_over():
                raise OutOfTimeError(doing)

        return check

    def _open(self, preparation: Preparation) -> keras.Model:
        """Return a model as loaded from its file, so that a resumed search converts the same model."""
        if not preparation.key:
            return self._source.model
        self.predictions(preparation)
        return load_keras(self._store.model_path(preparation.key))

    def _converted(self, preparation: Preparation) -> Conversions:
        """Return the conversions of a model, which all its candidates share."""
        gc.collect()  # cycles in the trace of an earlier model, which hold megabytes
        return Conversions(
            self._opened(preparation) if preparation.key else self._source.forward,
            representative=self._parts.calibration.held,
            output=self._settings.output,
            check=self._check("was quantized"),
        )

    def _trained_for_int8(self, preparation: Preparation) -> keras.Model:
        """Return a model trained for int8, starting from the source model or a pruned one."""
        before = self._opened(dataclasses.replace(preparation, quantization_aware=False))
        quantization_aware = PUBLIC_NAMES["quantization_aware"]
        trainer = self._trainer(self._settings.training, quantization_aware(before))
        model: keras.Model = quantization_aware(before)
        seed = self._seed_of(preparation)
        with self._within_budget() as end:
            trainer.callbacks.append(end)
            trainer.train(model, seed)
        recalibrate_batch_norm(model, trainer.full_batches(seed))
        return model

    def _pruned(self, preparation: Preparation) -> keras.Model:
        """Return a pruned and fine-tuned model, shrunk if it lost channels."""
        pruned = cast(Pruned, preparation.pruned)
        seed = self._seed_of(preparation)
        trainer = self._trainer(self._settings.training, self._source.copy())
        remedies = [remedy.callback(self._source.model) for remedy in pruned.remedies]
        model = self._source.copy()
        with self._within_budget() as end:
            prune_and_retrain(
                pruned,
                trainer,
                model,
                seed=seed,
                early=self._source.copy,
                remedies=[*remedies, end],
            )
        recalibrate_batch_norm(model, trainer.full_batches(seed))
        if pruned.granularity != "channel":
            return model
        return cast(keras.Model, PUBLIC_NAMES["shrink"](model).model)

    def _trainer(self, training: Training, model: keras.Model) -> Trainer:
        train = cast(Dataset, self._parts.train)  # trained candidates need it
        study = Study(name="compress", dataset=train.name, model="the model", training=training)
        return Trainer(study, training, train, model=model)

    @contextlib.contextmanager
    def _within_budget(self) -> Iterator[keras.callbacks.Callback]:
        """Yield a callback that raises an `OutOfTimeError` in a training when the budget ends."""
        check = self._check("was trained")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the search reports these problems itself
            yield keras.callbacks.LambdaCallback(on_train_batch_end=lambda *_, **__: check())

    def _seed_of(self, preparation: Preparation) -> int:
        return zlib.crc32(f"{self._settings.seed}/{preparation.key}".encode()) >> 1
