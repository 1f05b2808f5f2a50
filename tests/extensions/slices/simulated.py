"""Simulated studies of known truth with features: one kind of images loses accuracy, or none does."""

import dataclasses

import numpy as np

from tfaudit.audits.classes.classes import WORSE
from tfaudit.extensions.slices.slices import Slices, slices
from tfaudit.predictions import Predictions

CLASSES, KINDS, DIMENSIONS = 10, 5, 64


@dataclasses.dataclass(frozen=True)
class World:
    """Images of ten classes with five kinds each, so that a kind is 2 % of the images.

    Attributes:
        images: number of images.
        separation: distance between the means of the features of two kinds of a class, in standard deviations of the
            features of one kind in any direction.
        members: number of dense models, and of models made from them.
        accuracy: accuracy of the dense models; images differ, as beta distributed variables do.
        lost: share of right predictions that turn wrong in any kind.
        won: share of wrong predictions that turn right.
        alike: correlation of two members' losses on an image.
    """

    images: int = 10_000
    separation: float = 6.0
    members: int = 1
    accuracy: float = 0.9
    lost: float = 0.01
    won: float = 0.05
    alike: float = 0.3

    def study(
        self, seed: int, loss: float
    ) -> tuple[Predictions, Predictions, np.ndarray, np.ndarray]:
        """Return both populations, the features, and which images lose `loss` of their accuracy more than others."""
        rng = np.random.default_rng(seed)
        kinds = rng.permutation(np.arange(self.images) % (CLASSES * KINDS))
        labels = kinds // KINDS
        means = (
            rng.normal(size=(CLASSES * KINDS, DIMENSIONS))
            * self.separation
            / np.sqrt(2 * DIMENSIONS)
        )
        means += np.repeat(rng.normal(size=(CLASSES, DIMENSIONS)), KINDS, axis=0)
        features = means[kinds] + rng.normal(size=(self.images, DIMENSIONS))
        planted = kinds == rng.integers(CLASSES * KINDS)
        right = self._happens(rng, self.accuracy)
        more = np.where(planted, loss / self.accuracy, 0.0)
        lost = self._happens(rng, self.lost) | self._happens(rng, more)
        won = self._happens(rng, self.won)
        after = np.where(right, ~lost, won)
        sides = (np.where(side, labels, (labels + 1) % CLASSES) for side in (right, after))
        dense = Predictions.from_top1(labels, next(sides))
        return (
            dense,
            Predictions.from_top1(labels, next(sides), parents=dense.members),
            features,
            planted,
        )

    def _happens(self, rng: np.random.Generator, mean: float | np.ndarray) -> np.ndarray:
        """Return events with a probability of this mean that differs from image to image, `(K, N)` booleans."""
        share = np.broadcast_to(mean, self.images)
        scale = 1 / self.alike - 1
        chance = np.where(
            share > 0, rng.beta(np.maximum(share, 1e-9) * scale, (1 - share) * scale), 0
        )
        return rng.random((self.members, self.images)) < chance


def claimed(found: Slices) -> list[int]:
    """Return the numbers of the slices that lose more than all images."""
    table = found.frame()
    return table.loc[table["verdict"] == WORSE, "slice"].tolist()


def outcome(world: World, seed: int, loss: float) -> tuple[bool, bool]:
    """Return whether a study claims a slice, and one of which shares half of its images with the planted (F1 score)."""
    dense, compressed, features, planted = world.study(seed, loss)
    found = slices(dense, compressed, features, seed=seed)
    claims = claimed(found)
    hits = [number for number in claims if overlap(found.slice_of == number, planted) >= 0.5]
    return bool(claims), bool(hits)


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    """Return the F1 score of two sets of images."""
    return float(2 * (one & other).sum() / max(one.sum() + other.sum(), 1))
