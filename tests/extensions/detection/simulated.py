"""Simulated detectors with known losses: boxes of an image are alike, classes are of unequal frequency."""

import dataclasses

import numpy as np
import pandas as pd

from tfaudit.extensions.detection.coco_files import Truth
from tfaudit.extensions.detection.matching import IOUS, Matches

SHARES = np.array([0.6, 0.25, 0.1, 0.05])
"""Frequencies of the classes."""


@dataclasses.dataclass(frozen=True)
class Scenes:
    """Images whose boxes are found and lost together, and false positives that come together.

    `loss` is the mean share of the boxes that the compressed detector loses; half of the loss hits whole images. Each
    of several members, made from the baseline's of its place, has a loss of its own, a fifth more or less, and finds
    and misses other boxes of the same difficulty.
    """

    loss: float = 0.08
    members: int = 1

    def draw(self, rng, images):
        """A truth, and the matches of each member before and after."""
        count = 1 + rng.poisson(3 * rng.gamma(2, 0.5, images))
        image = np.repeat(np.arange(images), count)
        total = len(image)
        category = rng.choice(4, total, p=SHARES)
        hard = rng.normal(0, 0.7, images)[image]
        sizes = pd.DataFrame({"id": np.arange(images), "width": 99, "height": 99})
        boxes = pd.DataFrame({"image": image, "category": category, "area": 100.0, "crowd": False})
        names = pd.DataFrame({"id": range(4), "name": [f"class {c}" for c in range(4)]})
        truth = Truth(sizes, names, boxes, boxes[[]])
        crowded = rng.gamma(0.5, 2, images)
        spread = 0.2 if self.members > 1 else 0
        losses = self.loss * (1 + spread * rng.standard_normal(self.members)).clip(0, 2)
        pairs = [self._pair(rng, image, category, hard, crowded, loss) for loss in losses]
        before, after = zip(*pairs, strict=True)
        return truth, before, after

    def _pair(self, rng, image, category, hard, crowded, loss):
        """The matches of one member before and after."""
        total = len(image)
        found = rng.normal(1.2, 1, total) > hard
        score = 1 / (1 + np.exp(-rng.normal(1.5, 1, total) + hard))
        exact = rng.integers(2, 11, total)
        whole = (rng.random(len(crowded)) < loss)[image] & (rng.random(total) < 0.5)
        lost = whole | (rng.random(total) < loss / 2)
        ragged = np.maximum(exact - (rng.random(total) < 0.3), 1)
        return [
            self._matches(rng, image, category, score, hits, places, 0.4 * crowded * more)
            for hits, places, more in ((found, exact, 1), (found & ~lost, ragged, 1.3))
        ]

    def _matches(self, rng, image, category, score, found, exact, false):
        wrong = np.repeat(np.arange(len(false)), rng.poisson(false))
        images = np.concatenate([image[found], wrong])
        classes = np.concatenate([category[found], rng.choice(4, len(wrong), p=SHARES)])
        scores = np.concatenate([score[found], rng.beta(2, 3, len(wrong))])
        hits = np.zeros((len(IOUS), len(images)), bool)
        hits[:, : found.sum()] = np.arange(len(IOUS))[:, None] < exact[found]
        order = np.lexsort((-scores, classes))
        return Matches(
            images[order],
            classes[order],
            scores[order],
            hits[:, order],
            np.ones(hits.shape, bool),
            np.where(found, score, -np.inf),
        )
