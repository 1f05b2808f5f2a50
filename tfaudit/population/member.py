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

from tfaudit.compress.inference import predict
from tfaudit.compress.quantize import quantize
from tfaudit.compress.sparsity import sparsity
from tfaudit.parquet import prediction_bytes
from tfaudit.population.examples import load_splits
from tfaudit.population.training import Trainer
from tfaudit.store import Store
from tfaudit.variants import Quantized

__all__ = ["MemberMaker"]

REPRESENTATIVE_EXAMPLES = 100
"""Training examples that calibrate fixed-point quantization, [F] A."""


def _kernel_sparsity(model: keras.Model) -> float:
    table = sparsity(model)
    return float(table["sparsity"][table["kernel"] == "total: kernels"].iloc[0])


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
        self._parent = functools.lru_cache(maxsize=1)(self._load)

    def prepare(self, key: str) -> None:
        """Builds what all members of a variant share.

        Raises:
            InputError: the study asks for what is not there, such as an unknown model.
        """
        if not isinstance(self._store.study.variant(key), Quantized):
            self._trainer(key)

    def make(self, key: str, member: int) -> None:
        """Makes and stores one member. A quantized member needs its dense parent in the store.

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
            model = content = quantize(self._parent(member), variant.kind, representative=images)
            files[place("model.tflite")] = content
            facts: dict[str, Any] = {"seed": study.member_seed("dense", member), "sparsity": None}
        else:
            seed = study.member_seed(key, member)
            model, history = self._trainer(key).train(seed)
            content = _saved(model)
            files[place("model.keras")] = content
            files[place("history.csv")] = history.to_csv(index=False).encode()
            facts = {"seed": seed, "sparsity": _kernel_sparsity(model)}
        ranked, probabilities = predict(model, self._test, k=min(study.top_k, self._test.num_classes))
        files[self._store.prediction_path(key, member)] = prediction_bytes(ranked, probabilities)
        facts |= {
            "accuracy": float(np.mean(ranked[:, 0] == self._test.labels)),
            "bytes": len(content),
            "gzipped_bytes": len(gzip.compress(content, 6)),
            "seconds": round(time.monotonic() - started, 3),
        }
        self._store.save_member(key, member, files, facts)

    def _new_trainer(self, key: str) -> Trainer:
        return Trainer(self._store.study, self._store.study.variant(key), self._train)

    def _load(self, member: int) -> keras.Model:
        path = self._store.member_path("dense", member, "model.keras")
        self._store.read_checked("dense", member, path)
        return keras.saving.load_model(self._store.directory / path)
