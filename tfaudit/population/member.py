"""One member: train or compress it, predict with it, store it."""

from __future__ import annotations

import functools
import gzip
import tempfile
import time
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pandas as pd

from tfaudit.compress.counts import counts
from tfaudit.compress.litert.inference import predict
from tfaudit.compress.litert.quantize import quantize
from tfaudit.population.pruned import check_variant, gradual_trainer, prune_at_once
from tfaudit.population.stored_examples import load_splits
from tfaudit.population.trainer import Trainer
from tfaudit.store.parquet import prediction_bytes
from tfaudit.store.store import Store
from tfaudit.study.variants import Pruned, Quantized

__all__ = ["MemberMaker"]

REPRESENTATIVE_EXAMPLES = 100
"""Training examples that calibrate fixed-point quantization, [F] A."""


def _counted(model: keras.Model | bytes) -> dict[str, float | None]:
    """Parameters, zeros and operations; None where unknown."""
    return {name: None if value != value else value for name, value in counts(model).summary().items()}


def _saved(model: keras.Model) -> bytes:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "model.keras"
        model.save(path)
        return path.read_bytes()


class MemberMaker:
    """Makes members of a study, one after another, in one process.

    Data, compiled models and traced functions are kept between members; what a member becomes depends on its seed
    alone.

    Args:
        store: where the members go, and the study.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._train, self._test = load_splits(store.study)
        self._trainer = functools.cache(self._new_trainer)
        self._retrainer = functools.cache(self._new_retrainer)
        self._parent = functools.lru_cache(maxsize=1)(self._load)

    def prepare(self, key: str) -> None:
        """Builds what all members of a variant share.

        Raises:
            InputError: the study asks for what is not there, such as an unknown model.
        """
        variant = self._store.study.variant(key)
        if isinstance(variant, Pruned) and variant.parent:
            check_variant(self._retrainer().model, variant)
        elif not isinstance(variant, Quantized):
            self._trainer(key)

    def make(self, key: str, member: int) -> None:
        """Makes and stores one member. A member that is made from a parent needs that in the store.

        Raises:
            Exception: whatever goes wrong; nothing half-made counts.
        """
        started = time.monotonic()
        study = self._store.study
        variant = study.variant(key)
        place = functools.partial(self._store.member_path, key, member)
        files: dict[str, bytes] = {}
        if isinstance(variant, Quantized):
            images = self._train.head(REPRESENTATIVE_EXAMPLES)
            model = content = quantize(self._parent("dense", member), variant.kind, representative=images)
            files[place("model.tflite")] = content
            facts: dict[str, Any] = {"seed": study.member_seed("dense", member), **_counted(content), "sparsity": None}
        else:
            seed = study.member_seed(key, member)
            model, history = self._trained(key, member, seed)
            content = _saved(model)
            files[place("model.keras")] = content
            files[place("history.csv")] = history.to_csv(index=False).encode()
            facts = {"seed": seed, **_counted(model)}
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
        """A dense or pruned member, and its history."""
        study = self._store.study
        variant, root = study.variant(key), study.member_seed("dense", member)
        if not isinstance(variant, Pruned) or variant.parent is None:
            model = self._trainer(key).build(seed)
            return model, self._trainer(key).train(model, seed)
        model = self._load(variant.parent, member)

        def early() -> keras.Model:
            dense = self._trainer("dense")
            start = dense.build(root)
            if variant.rewind_to:
                dense.train(start, root, until=variant.rewind_to)
            return start

        decay = study.planned_training.weight_decay
        history = prune_at_once(variant, self._retrainer(), model, seed=seed, root_seed=root, early=early, decay=decay)
        return model, history

    def _new_trainer(self, key: str) -> Trainer:
        study = self._store.study
        variant, training = study.variant(key), study.planned_training
        if isinstance(variant, Pruned):
            return gradual_trainer(study, variant, self._train)
        return Trainer(study, training, self._train)

    def _new_retrainer(self) -> Trainer:
        study = self._store.study
        return Trainer(study, study.retraining or study.planned_training, self._train)

    def _load(self, key: str, member: int) -> keras.Model:
        path = self._store.member_path(key, member, "model.keras")
        self._store.read_checked(key, member, path)
        return keras.saving.load_model(self._store.directory / path)
