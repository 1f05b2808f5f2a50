"""Making of candidates: prune, fine-tune, shrink, convert."""

from __future__ import annotations

import dataclasses
import functools
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np

from tfaudit.compress.litert.quantize import CALIBRATION_IMAGES, quantize
from tfaudit.compress.model_files import load_keras
from tfaudit.compress.pruning.hold_masks import HoldMasks
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.compress.shrinking.shrink import shrink
from tfaudit.datasets.dataset import Dataset
from tfaudit.population.member import model_bytes
from tfaudit.population.remedies import MemberRemedies
from tfaudit.population.training import Trainer, copy_variables
from tfaudit.shipping.candidates import Candidate, model_key
from tfaudit.shipping.search_data import some_of_every_class
from tfaudit.shipping.search_folder import SearchFolder
from tfaudit.stats.ranking import RankedClasses
from tfaudit.study.study import Study
from tfaudit.study.training import Training
from tfaudit.study.variants import Pruned

REMEDY_SHARE = 0.1
"""Share of the training data on which a remedy measures what classes lose, where the training holds out none."""


class OutOfTimeError(Exception):
    """The budget ended during a training."""


class CandidateMaker:
    """Makes the flatbuffers of candidates; pruned models are trained once and kept in the directory of the search.

    Args:
        path: the `.keras` file of the model.
        folder: of the search.
        calibration: examples from which representative ones are drawn.
        train: training data; None without.
        training: how pruned models are fine-tuned.
        seed: of representative examples and of trainings.
        output: name of the output, as in `quantize`.
        is_over: returns whether the budget has ended.
        predict: returns the predictions of a Keras model on the selection part.
    """

    def __init__(
        self,
        path: Path,
        folder: SearchFolder,
        *,
        calibration: Dataset,
        train: Dataset | None,
        training: Training,
        seed: int,
        output: str | None,
        is_over: Callable[[], bool],
        predict: Callable[[keras.Model], RankedClasses],
    ) -> None:
        self._predict = predict
        self._path, self._folder, self._train, self._training = path, folder, train, training
        self._seed, self._output, self._is_over = seed, output, is_over
        self._representative = some_of_every_class(calibration, CALIBRATION_IMAGES, seed).held
        self._opened = functools.lru_cache(maxsize=1)(self._open)

    def flatbuffer(self, candidate: Candidate) -> bytes:
        """Return a candidate's flatbuffer.

        Raises:
            ConversionError: TensorFlow Lite cannot make it, or does not run it.
            OutOfTimeError: the budget ended before its model was trained.
        """
        model = self._opened(candidate.pruned)
        settings = {"representative": self._representative, "sparse": candidate.sparse, "output": self._output}
        return quantize(model, candidate.kind, **settings)

    def is_trained(self, pruned: Pruned | None) -> bool:
        """Return whether a candidate's model needs no training any more."""
        return pruned is None or self._folder.model(model_key(pruned)) is not None

    def predictions(self, pruned: Pruned) -> RankedClasses:
        """Return the predictions of a pruned model on the selection part, before it is quantized; train it if needed.

        Raises:
            OutOfTimeError: the budget ended before it was trained.
        """
        return self._stored(pruned)[1]

    def _open(self, pruned: Pruned | None) -> keras.Model:
        """Return a model as its file holds it, so that a search that resumes converts the same."""
        return load_keras(self._path if pruned is None else self._stored(pruned)[0])

    def _stored(self, pruned: Pruned) -> tuple[Path, RankedClasses]:
        stored = self._folder.model(model_key(pruned))
        if stored is None:
            model = self._trained(pruned)
            self._folder.save_model(model_key(pruned), model_bytes(model), self._predict(model))
            stored = self._folder.model(model_key(pruned))
            assert stored is not None  # it was written just now
        return stored

    def _trained(self, pruned: Pruned) -> keras.Model:
        assert self._train is not None  # there are no such candidates without
        model, seed = load_keras(self._path), zlib.crc32(f"{self._seed}/{model_key(pruned)}".encode()) >> 1
        training = self._training
        if any(remedy.holds_out for remedy in pruned.remedies) and not training.validation:
            training = dataclasses.replace(training, validation=REMEDY_SHARE)
        study = Study(name="compress", dataset=self._train.name, model="the model", training=training)
        trainer = Trainer(study, training, self._train, model=load_keras(self._path))
        copy_variables(model, trainer.model)
        settings = {"method": pruned.method, "granularity": pruned.granularity, "axis": pruned.axis}
        masks = prune(trainer.model, float(pruned.level), layers=pruned.layers, **settings)  # type: ignore[arg-type]
        copy_variables(trainer.model, model)
        end = EndOfBudget(self._is_over)
        remedies = MemberRemedies(pruned.remedies).callbacks(load_keras(self._path), lambda: trainer.held_out(seed))
        trainer.callbacks += [HoldMasks(masks), *remedies, end]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what the search tells in its own words
            trainer.train(model, seed)
        if end.reached:
            raise OutOfTimeError
        return shrink(model).model if pruned.granularity == "channel" else model


class EndOfBudget(keras.callbacks.Callback):
    """Ends a training when the budget of the search has ended."""

    def __init__(self, is_over: Callable[[], bool]) -> None:
        super().__init__()
        self._is_over, self.reached = is_over, False

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        """Stop if the budget has ended."""
        if self._is_over():
            self.reached = self.model.stop_training = True


def weights_seal(model: keras.Model) -> str:
    """Return a checksum of a model's architecture and weights, which its file's bytes, with their times, are not."""
    seal = zlib.crc32(model.to_json().encode())
    for values in model.get_weights():
        seal = zlib.crc32(np.ascontiguousarray(values).tobytes(), seal)
    return f"{seal:08x}"
