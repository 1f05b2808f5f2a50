"""Who pays where no group is known: slices searched on one half of the images, tested on the other."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from tfaudit.audits.classes.classes import CANNOT_TELL, WORSE
from tfaudit.audits.comparison import Comparison
from tfaudit.audits.result import Drawing, Result, in_points
from tfaudit.errors import InputError, require
from tfaudit.extensions.slices.descriptions import Known, coded, described
from tfaudit.predictions import Predictions
from tfaudit.stats.change_intervals import GroupChanges
from tfaudit.stats.changes import group_changes
from tfaudit.stats.group_codes import LEAST_IMAGES, group_means
from tfaudit.stats.multiplicity import weighted_holm
from tfaudit.stats.ratios import ratio

TESTED = 5
"""Number of slices to test: the largest losses on the half of the images that is searched."""

SHARES = (0.03, 0.02, 0.02)
"""Mean share of the images in a cluster, of each clustering: those of one size begin at other images."""

COMPONENTS = 20
"""Number of principal components to cluster by."""

ALIKE = 0.5
"""Share of a slice's images in slices that lose more, from which on it is not a slice of its own."""

CERTAINTY = 2.0
"""Standard errors that a slice must have lost beyond the average to rank above others: large losses, but not of few."""

_STEPS = 20


@dataclasses.dataclass(frozen=True)
class Slices(Result):
    """Slices of the images that lost most where they were searched, and their losses on the other images.

    Attributes:
        table: one row per slice, the largest loss on the searched half first; see `frame`.
        slice_of: `(N,)` integers, the number of each image's slice, from 1; 0 for images in none.
        tested: `(N,)` booleans, whether an image belongs to the half on which slices are tested.
        lost: `(N,)` share of right members before minus that after.
        alpha: level of the tests; intervals are at level 1 - alpha.
        notes: caveats for the reader, one sentence each.
    """

    table: pd.DataFrame
    slice_of: np.ndarray
    tested: np.ndarray
    lost: np.ndarray
    alpha: float
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return one row per slice; all figures but `searched_pp` are of the half that was not searched.

        Columns: `slice`, its number; `description`; `examples`; `accuracy_before` and `accuracy_after`; the change of
        accuracy, `change_pp`, with `change_low_pp` and `change_high_pp`; the change relative to all images,
        `relative_pp`, with `relative_p`, one-sided, `relative_p_holm`, corrected for the slices tested, and `verdict`
        (worse than average, cannot tell); `searched_pp`, the change on the half where the slice was chosen, which
        overstates losses.
        """
        return self.table.copy()

    def summary(self) -> dict[str, Any]:
        """Return how many slices were tested and claimed, and the largest loss of one that is claimed (or None)."""
        claimed = self.table[self.table["verdict"] == WORSE]
        return {
            "slices": len(self.table),
            WORSE.replace(" ", "_"): len(claimed),
            "worst_change_pp": None if claimed.empty else float(claimed["change_pp"].min()),
        }

    @property
    def groups(self) -> np.ndarray:
        """`(N,)` integers, the number of the slice of each tested image; 0 for all other images."""
        return np.where(self.tested, self.slice_of, 0)

    def images(self, number: int) -> np.ndarray:
        """Return the positions of a slice's images, those that lose most members first."""
        inside = np.flatnonzero(self.slice_of == number)
        return inside[np.argsort(-self.lost[inside], kind="stable")]

    def chart(self) -> Drawing:
        """Draw the change of accuracy of every slice with its interval."""
        from tfaudit.extensions.slices.chart import slices_chart

        return slices_chart(self.table)


def slices(
    baseline: Predictions,
    compressed: Predictions,
    features: ArrayLike,
    *,
    facts: pd.DataFrame | None = None,
    paired: bool | None = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> Slices:
    """Search slices of the images that lose more accuracy than others, and test them on images not used in the search.

    The images are split in two halves, stratified by class; clusters of images stay together.

    - Search: on one half, the mean of its class is subtracted from each feature. The result is clustered several times,
      over all images and within each class. Classes and values of the `facts`, alone and within classes, are candidates
      too. A candidate is ranked by its loss minus `CERTAINTY` standard errors, minus the same figure of its classes
      if that is above 0. The first `TESTED` are slices.
    - Test: on the other half, an image belongs to the cluster with the nearest centre. The loss of each slice is
      compared with that of all images, over images and members [C], one-sided. Holm's correction [H] gives half the
      level to the first slice, a quarter to the second and so on. Only what this test finds is a claim.

    Args:
        baseline: the uncompressed model or population.
        compressed: the compressed one, on the same examples.
        features: `(N, D)` numbers, in the order of the examples, such as `tfaudit.features` of the dense model.
        facts: `(N, F)` what is known of the examples, such as brightness or words; numbers are cut into quarters. They
            describe slices beside the class and the dense model's prediction.
        paired: whether members are compared in pairs (see `Comparison`); None pairs them by `compressed.parents`.
        alpha: level of the tests, in (0, 1).
        seed: seed of the halves and of the clusters.

    Raises:
        InputError: different examples, one model against a population, features or facts of another shape, features
            that are not finite, or a level outside (0, 1).

    Example:
        >>> labels, side = np.arange(2000) % 2, np.arange(2000) // 2 % 20
        >>> top1 = np.where((side == 3) & (labels == 1), 0, labels)
        >>> before, after = (Predictions.from_top1(labels, side) for side in (labels, top1))
        >>> found = slices(before, after, np.eye(20)[side]).frame().head(1)
        >>> found[["description", "examples", "change_pp", "verdict"]]
          description  examples  change_pp             verdict
        0     class 1        22     -100.0  worse than average
    """
    comparison = Comparison(baseline, compressed, paired, alpha)
    comparison.require_like_sides()
    points = require_features(features, baseline.num_examples)
    known = coded(facts, baseline)
    rng = np.random.default_rng(seed)
    tested = _half(comparison, rng)
    slice_of, names = _found(comparison, points, known, ~tested, rng)
    table = _table(comparison, slice_of, len(names), tested)
    table.insert(1, "description", names)
    lost = (comparison.before.mean(0) - comparison.after.mean(0)).astype(float)
    return Slices(table, slice_of, tested, lost, alpha, comparison.notes)


def require_features(features: ArrayLike, count: int) -> np.ndarray:
    """Return features of a number of examples as float32; raise an `InputError` unless they are."""
    values = np.asarray(features)
    if values.ndim != 2 or len(values) != count or not values.shape[1]:
        raise InputError("features", f"shape {values.shape}", f"({count}, D), a row per example")
    values = values.astype(np.float32)
    require(bool(np.isfinite(values).all()), "features", "NaN or infinity", "finite numbers")
    return values


def _half(comparison: Comparison, rng: np.random.Generator) -> np.ndarray:
    """Return which images are tested, `(N,)` booleans: half of each class, or half of the clusters of images."""
    labels = comparison.baseline.labels
    if comparison.clusters is not None:
        return rng.permutation(comparison.clusters.max() + 1)[comparison.clusters] % 2 == 1
    tested = np.zeros(len(labels), bool)
    tested[np.lexsort((rng.random(len(labels)), labels))[1::2]] = True
    return tested


def _changes(
    comparison: Comparison, groups: np.ndarray, count: int, images: np.ndarray
) -> GroupChanges:
    """Return the changes of groups of some images alone; variances between members borrow from other groups."""
    clusters = comparison.clusters
    before, after = (side[:, images] for side in (comparison.before, comparison.after))
    changes = group_changes(
        before,
        after,
        groups[images],
        count,
        paired=bool(comparison.pairs),
        clusters=None if clusters is None else clusters[images],
    )
    right = np.bincount(groups[images], before.mean(0) + after.mean(0), count) / 2
    return changes.moderated(ratio(right, changes.examples))


def _found(
    comparison: Comparison,
    points: np.ndarray,
    known: Known,
    searched: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, list[str]]:
    """Return the slice of each image, `(N,)` integers from 1, 0 for none, and the descriptions of the slices."""
    labels = comparison.baseline.labels
    candidates: list[tuple[float, np.ndarray, str]] = []
    expected = np.zeros(len(labels))
    for groups, names in _partitions(points, known, searched, rng):
        count = int(groups.max()) + 1
        relative = _changes(comparison, groups, count, searched).relative
        sizes = np.bincount(groups[searched], minlength=count)
        sure = -relative.value - CERTAINTY * relative.error
        loss = sure - ratio(np.bincount(groups[searched], expected[searched], count), sizes)
        if groups is labels:
            expected = np.maximum(np.nan_to_num(sure), 0)[labels]
        candidates += [
            (loss[group], groups == group, names[group] if names else "")
            for group in np.flatnonzero((sizes >= LEAST_IMAGES) & np.isfinite(loss))
        ]
    slice_of = np.zeros(len(points), int)
    descriptions: list[str] = []
    for _, inside, name in sorted(candidates, key=lambda candidate: -candidate[0]):
        new = inside & (slice_of == 0)
        if (new & searched).sum() <= ALIKE * (inside & searched).sum():
            continue
        descriptions.append(name or described(new, known))
        slice_of[new] = len(descriptions)
        if len(descriptions) == TESTED:
            break
    return slice_of, descriptions


def _partitions(
    points: np.ndarray,
    known: Known,
    searched: np.ndarray,
    rng: np.random.Generator,
) -> Iterator[tuple[np.ndarray, list[str]]]:
    """Yield groups of the images, `(N,)` integers each, with their names; the classes first, clusters without names."""
    labels, class_names = known["class"]
    yield labels, [f"class {name}" for name in class_names]
    shown = _components(points, labels, searched)
    for within in (np.zeros_like(labels), labels):
        for share in SHARES:
            yield _clusters(shown, within, searched, share, rng), []
    for fact, (codes, names) in known.items():
        if fact in ("class", "prediction"):
            continue
        yield codes, [f"{fact} {name}" for name in names]
        pairs = [f"class {one}, {fact} {name}" for one in class_names for name in names]
        yield labels * len(names) + codes, pairs


def _components(points: np.ndarray, labels: np.ndarray, searched: np.ndarray) -> np.ndarray:
    """Return principal components within classes of the images searched, `(N, COMPONENTS)`."""
    means = group_means(points[searched].T, labels[searched], int(labels.max()) + 1)
    centred = points - np.nan_to_num(means.T[labels]).astype(np.float32)
    rows = centred[searched]
    _, directions = np.linalg.eigh(rows.T @ rows)
    return centred @ directions[:, : -1 - COMPONENTS : -1]


def _clusters(
    shown: np.ndarray,
    within: np.ndarray,
    searched: np.ndarray,
    share: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return the cluster of each image, clustered within groups on the images searched."""
    from scipy.cluster.vq import kmeans2, vq  # only here: audits without features need none of it

    clusters = np.zeros(len(shown), int)
    first = 0
    for group in np.unique(within):
        inside = within == group
        rows = shown[inside & searched]
        count = max(round(len(rows) / (share * searched.sum())), 1)
        if not len(rows):
            continue
        starts = rows[rng.choice(len(rows), min(count, len(rows)), replace=False)]
        with warnings.catch_warnings(action="ignore"):  # of clusters that become empty
            centres, _ = kmeans2(rows, starts, iter=_STEPS, minit="matrix")
        clusters[inside] = first + vq(shown[inside], centres)[0]
        first += len(centres)
    return clusters


def _table(
    comparison: Comparison, slice_of: np.ndarray, count: int, tested: np.ndarray
) -> pd.DataFrame:
    """Return the figures of every slice; the images in none are groups by class, so that variances are moderated."""
    classes = comparison.baseline.num_classes
    groups = np.where(slice_of > 0, slice_of - 1, count + comparison.baseline.labels)
    searched, changes = (
        _changes(comparison, groups, count + classes, half) for half in (~tested, tested)
    )
    change, relative = changes.absolute, changes.relative
    low, high = change.interval(comparison.confidence, most=1)
    half = relative.p() / 2
    p = np.where(relative.value < 0, half, 1 - half)[:count]
    corrected = weighted_holm(p, 0.5 ** np.arange(count))
    right = np.bincount(groups[tested], comparison.before.mean(0)[tested], count + classes)
    before = ratio(right, changes.examples)
    columns = {
        "slice": np.arange(1, count + classes + 1),
        "examples": changes.examples,
        "accuracy_before": before,
        "accuracy_after": (before + change.value).round(12),
        **in_points("change", change.value, low, high),
        "relative_pp": 100 * relative.value,
        "searched_pp": 100 * searched.absolute.value,
    }
    verdict = np.where(corrected <= comparison.alpha, WORSE, CANNOT_TELL)
    table = pd.DataFrame(columns).head(count)
    return table.assign(relative_p=p, relative_p_holm=corrected, verdict=verdict)
