"""A simulated study of ImageNet's size, without images: predictions of its members, in a real store.

Every image has ten candidate classes, its own among them, and evidence for each that all members share; the spread of
the evidence makes images easy or hard. Each member adds its own noise. With the constants below a member has a top-1
accuracy of .77, and two members differ on 16 % of the images, as two trainings of a ResNet-50 do. Compression increases
the noise, and reduces the evidence of the images of every tenth class. Quantized members have their dense parent's
noise and a little more; the probabilities of int8 have 256 levels, so that classes tie. A study of several million
images repeats the first million.
"""

import dataclasses
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tfaudit.predictions import Predictions
from tfaudit.stats.ranking import RankedClasses
from tfaudit.stats.ties import Ties
from tfaudit.store.parquet import prediction_bytes
from tfaudit.store.store import Store, open_store
from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned, Quantized, Variant

__all__ = ["World", "make_store"]

VARIANTS = (
    *(Pruned(sparsity) for sparsity in (0.1, 0.3, 0.5, 0.7, 0.9)),
    *(Quantized(kind) for kind in ("float16", "dynamic_range", "int8")),
)
EFFECT = {"float16": 0.0, "dynamic_range": 0.01, "int8": 0.05} | {
    v.key: v.sparsity**4 for v in VARIANTS[:5]
}
CANDIDATES, RANKS, OWN, SPREAD, NOISE = 10, 5, 5.2, 2.6, 0.8
LEVELS = 256
DISTINCT = 1_000_000


@dataclasses.dataclass(frozen=True)
class World:
    """The images: `labels` `(N,)`, ten `candidates` `(N, 10)` per image, its class first, and their `evidence`."""

    labels: np.ndarray
    candidates: np.ndarray
    evidence: np.ndarray

    @classmethod
    def make(cls, examples: int, classes: int) -> "World":
        """Return images of equally frequent classes, the same for the same arguments."""
        rng = np.random.default_rng(0)
        labels = (np.arange(examples) % classes).astype(np.uint16)
        others = (
            np.argsort(rng.random((64, classes - 1)), axis=1)[:, : CANDIDATES - 1] + 1
        )  # distinct offsets
        steps = others[rng.integers(0, len(others), examples)]
        candidates = np.c_[labels, (labels[:, None] + steps) % classes].astype(np.uint16)
        evidence = rng.normal(0, SPREAD, candidates.shape) - 0.25 * np.arange(candidates.shape[1])
        evidence[:, 0] += OWN
        return cls(labels, candidates, evidence.astype(np.float32))

    def predict(self, variant: Variant, member: int) -> RankedClasses:
        """Return one member's predictions, `(N, 5)`."""
        effect = EFFECT.get(variant.key, 0.0)

        def noise(key: str) -> np.ndarray:
            seed = zlib.crc32(f"{key}/{member}".encode())
            return np.random.default_rng(seed).standard_normal(self.evidence.shape, np.float32)

        scores = self.evidence + NOISE * (1 + effect / 3) * noise(variant.parent or variant.key)
        if variant.parent:
            scores += 0.02 * (1 + 5 * effect) * noise(variant.key)
        scores[self.labels % 10 == 0, 0] -= effect
        shares = np.exp(scores - scores.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        if variant.key == "int8":
            shares = np.round(shares * LEVELS) / LEVELS
        order = np.lexsort((self.candidates, -shares))[:, :RANKS]
        classes, best = (np.take_along_axis(each, order, 1) for each in (self.candidates, shares))
        ties = Ties.of_scores(best)
        return RankedClasses(
            classes, best, Ties(ties.rows, classes[ties.rows, ties.classes].astype(np.int64))
        )

    def population(self, variant: Variant, members: int) -> Predictions:
        """Return the predictions of K members, not stored."""
        ranked = [self.predict(variant, member) for member in range(members)]
        names = tuple(map(str, range(int(self.candidates.max()) + 1)))
        return Predictions.from_ranked(self.labels, ranked, class_names=names)


def make_store(
    directory: Path,
    members: int,
    examples: int,
    classes: int,
    variants: Sequence[Variant] = VARIANTS,
) -> Store:
    """Write the study, or open the one that exists."""
    if (directory / "study.json").exists():
        return open_store(directory)
    world = World.make(min(examples, DISTINCT), classes)
    copies = -(-examples // DISTINCT)
    training = Training(epochs=1)
    study = Study(
        name="scale",
        dataset="simulated",
        model="simulated",
        training=training,
        variants=tuple(variants),
        population=members,
    )
    store = Store.create(directory, study, {})
    ids = [f"image-{i}" for i in range(examples)]
    labels = np.resize(world.labels, examples)
    store.save_examples(
        "test", labels, ids, [f"class {c}" for c in range(classes)], [b""] * examples
    )
    for variant in study.all_variants:
        for member in range(members):
            ranked = RankedClasses.joined([world.predict(variant, member)] * copies)
            content = prediction_bytes(ranked.take(np.arange(examples)) if copies > 1 else ranked)
            files = {store.prediction_path(variant.key, member): content}
            store.save_member(
                variant.key, member, files, {"bytes": len(content), "gzipped_bytes": len(content)}
            )
    return store
