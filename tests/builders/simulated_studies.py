"""Simulated studies whose truth is known: what compression does to the recall of every class, in closed form.

A member recognises an image where its own class + the image's ease + the member's strength + the member's knack for the
class + noise of member and image > 0. All are normal, so the expected recall is a value of their distribution function,
over new images and new members. Wrong predictions go to two rivals of the image, the first of which takes four in five.

The compressed members see every image a little differently, but no class better or worse unless the truth says so:
every normal is turned a little towards a fresh one, which leaves its distribution as it was. Paired members keep nearly
all of their parent's strength, knack and noise.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import special

from tfaudit.audits.gate.checks import CANNOT_JUDGE
from tfaudit.audits.gate.gate import gate, judge
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.gate.measurements import Estimate, measure
from tfaudit.audits.robustness.robustness import robustness
from tfaudit.predictions import Predictions
from tfaudit.stats.multiplicity import interim_sizes
from tfaudit.store.external import import_predictions
from tfaudit.store.store import Store

CLASSES = (
    "T-shirt",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
RECALLS = np.array([0.85, 0.97, 0.84, 0.90, 0.688, 0.96, 0.65, 0.94, 0.97, 0.95])
EASE, STRENGTH, KNACK, NOISE = 1.0, 0.05, 0.15, 0.5


@dataclasses.dataclass(frozen=True)
class Truth:
    """What compression does.

    Attributes:
        paired: whether the compressed members are made from the baseline's.
        recalls: expected recall after compression by class: one figure, or several that the members take in order; the
            other classes are `everywhere` below what they were.
        everywhere: loss of all other classes, a share.
        image_shift: how much the ease of an image changes, 0 to 1; 0 treats every image as before.
        knack: factor on how much members differ in their knack for a class, by class; 1 for the other classes.
        differ: factor on how much members differ in strength and knack; 0 for single models that are the whole truth.
        member_shift: how much of strength, knack and noise is a paired member's own, 0 to 1.
        cluster_images: number of images of a cluster; 1 for independent images.
        alike: how alike the images of a cluster are: the correlation of their ease, and of its change.
        of_one_class: whether the images of a cluster are of one class, as frames of a film are, not of all in turn.
        cluster_spread: standard deviation of the logarithm of the clusters' expected sizes; images are then dealt to
            clusters at random, whatever their class.
        lost_alike: share of a class's images that no compressed member recognises, by class. In clusters it differs:
            most lose hardly any, few lose many (a beta distribution with the correlation `alike`).
    """

    paired: bool = False
    recalls: Mapping[str, tuple[float, ...]] = dataclasses.field(default_factory=dict)
    everywhere: float = 0.0
    knack: Mapping[str, float] = dataclasses.field(default_factory=dict)
    differ: float = 1.0
    image_shift: float = 0.15
    member_shift: float = 0.2
    cluster_images: int = 1
    alike: float = 0.3
    of_one_class: bool = False
    cluster_spread: float = 0.0
    lost_alike: Mapping[str, float] = dataclasses.field(default_factory=dict)


TRUTHS = {
    "nothing changes": Truth(),
    "nothing changes, pairs": Truth(paired=True),
    "Coat collapses": Truth(recalls={"Coat": (0.012, 0.45)}, everywhere=0.02),
    "every class loses 1 point": Truth(everywhere=0.01),
    "every class loses 1 point, pairs": Truth(
        everywhere=0.01, paired=True, image_shift=0.05, member_shift=0.1
    ),
    "Shirt loses 2 points, pairs": Truth(
        recalls={"Shirt": (0.63,)}, paired=True, image_shift=0.05, member_shift=0.1
    ),
}


def simulate(
    truth: Truth,
    seed: int,
    *,
    members: int,
    images: int | Sequence[int] = 500,
    classes: int = 10,
) -> tuple[Predictions, Predictions]:
    """Draw the predictions of a baseline and a compressed population, K members each.

    Args:
        truth: what compression does.
        seed: the same seed gives the same predictions.
        members: K.
        images: number of images of each class, or one number for each.
        classes: C unless `images` are C numbers; names and recalls repeat after ten.
    """
    rng = np.random.default_rng(seed)
    if isinstance(images, int):
        labels = np.arange(images * classes) % classes
    else:
        classes = len(images)
        labels = np.repeat(np.arange(classes), images)
    names = class_names(classes)
    before = np.tile(np.resize(RECALLS, classes), (members, 1))
    after = before - truth.everywhere
    for name, recalls in truth.recalls.items():
        after[:, names.index(name)] = np.resize(recalls, members)

    clusters = _clusters(truth, labels, classes, rng)

    def normals() -> np.ndarray:
        alone = rng.standard_normal(labels.size, np.float32)
        if truth.cluster_images == 1:
            return alone
        common = rng.standard_normal(clusters.max() + 1, np.float32)[clusters]
        return (
            np.float32(np.sqrt(truth.alike)) * common + np.float32(np.sqrt(1 - truth.alike)) * alone
        )

    ease = normals()
    own = [rng.standard_normal((members, size), np.float32) for size in (1, classes, labels.size)]
    shift = truth.member_shift if truth.paired else 1.0
    knack = np.array([truth.knack.get(name, 1.0) for name in names])
    scales = truth.differ, truth.differ * knack
    right = [
        _right(before, labels, scales, ease, own),
        _right(
            after,
            labels,
            scales,
            _turned(ease, truth.image_shift, normals()),
            [_turned(part, shift, rng.standard_normal(part.shape, np.float32)) for part in own],
        ),
    ]
    lost = np.array([truth.lost_alike.get(name, 0.0) for name in names])
    right[1] &= ~_lost_alike(lost[labels], clusters, truth, rng)
    offsets = (
        1 + rng.integers(classes - 1, size=labels.size)
        if classes > 2
        else np.ones(labels.size, int)
    )
    second = rng.random((members, labels.size), np.float32) < 0.2
    sides = [second, second if truth.paired else rng.random(second.shape, np.float32) < 0.2]
    predictions = []
    for correct, other in zip(right, sides, strict=True):
        rival = (labels + offsets) % classes
        runner_up = (labels + offsets % (classes - 1) + 1) % classes
        top1 = np.where(correct, labels, np.where(other, runner_up, rival))
        parents = predictions[0].members if truth.paired and predictions else None
        predictions.append(
            Predictions.from_top1(
                labels,
                top1,
                class_names=names,
                parents=parents,
                clusters=clusters if truth.cluster_images > 1 else None,
            )
        )
    return predictions[0], predictions[1]


def _clusters(
    truth: Truth, labels: np.ndarray, classes: int, rng: np.random.Generator
) -> np.ndarray:
    """Return the cluster of each image, `(N,)` integers."""
    images = np.arange(labels.size)
    if truth.cluster_spread:
        sizes = rng.lognormal(sigma=truth.cluster_spread, size=labels.size // truth.cluster_images)
        dealt = rng.choice(len(sizes), labels.size, p=sizes / sizes.sum())
        return np.unique(dealt, return_inverse=True)[1]
    if truth.of_one_class:
        return images // (classes * truth.cluster_images) * classes + labels
    return images // truth.cluster_images


def _lost_alike(
    shares: np.ndarray, clusters: np.ndarray, truth: Truth, rng: np.random.Generator
) -> np.ndarray:
    """Return which images no compressed member recognises, `(N,)` booleans, from their probabilities."""
    if not shares.any():
        return np.zeros(shares.shape, bool)
    if truth.cluster_images > 1:
        strength = 1 / truth.alike - 1
        level = rng.random(clusters.max() + 1)[clusters]
        own = shares > 0
        shares = np.where(
            own, special.betaincinv(shares * strength + ~own, (1 - shares) * strength, level), 0.0
        )
    return rng.random(shares.size) < shares


def until_decided(
    truth: Truth, seed: int, limits: Limits, *, most: int, images: int
) -> tuple[str, str, int]:
    """Return the gate's outcome for a whole population, that for a growing one, and where that one ended."""
    before, after = simulate(truth, seed, members=most, images=images)
    looks = interim_sizes(most)
    whole = gate(before, after, limits).outcome
    for look, members in enumerate(looks, start=1):
        first = (_first(population, members) for population in (before, after))
        outcome = gate(*first, limits, looks=len(looks), look=look).outcome
        if outcome != CANNOT_JUDGE:
            break
    return whole, outcome, members


def _first(population: Predictions, members: int) -> Predictions:
    """Return the first members of a population."""
    return Predictions(
        population.labels,
        population.ranked[:members],
        class_names=population.class_names,
        parents=population.parents and population.parents[:members],
    )


FLIPS = {
    True: Truth(paired=True, everywhere=0.005, image_shift=0.03, member_shift=0.03),
    False: Truth(everywhere=0.01),
}
"""Studies, paired or not, in which few predictions change, or as many as by retraining."""


def clustered(members: int, *, of_one_class: bool) -> Truth:
    """Return a truth in which nothing changes and images come in clusters of 20, of one class or of all in turn.

    The members of a single pair have the same strength: its interval is over images alone.
    """
    return Truth(
        paired=True,
        image_shift=0.4,
        member_shift=0.0 if members == 1 else 0.2,
        cluster_images=20,
        of_one_class=of_one_class,
    )


def flip_rates(before: Predictions, after: Predictions, paired: bool) -> dict[str, Estimate]:
    """Return the rates of changed predictions that the gate limits, by their names in tables."""
    measured = measure(before, after, paired=paired)
    return {"changed": measured.flips, "right to wrong": measured.negative_flips}


def true_flip_rates(truth: Truth) -> dict[str, float]:
    """Return the expected rates of changed predictions, from 300 studies of 30 members and 1,000 images."""
    changed, lost = [], []
    for seed in range(300):
        before, after = simulate(truth, 10**6 + seed, members=30, images=100)
        changed.append(np.mean(before.top1 != after.top1))
        lost.append(np.mean(before.correct() > after.correct()))
    return {"changed": float(np.mean(changed)), "right to wrong": float(np.mean(lost))}


HIDDEN = {"fog": (0.05, 0.1), "snow": (0.3, 0.5)}
"""Share of the images that two corruptions hide from every member, before and after compression."""


def simulate_corrupted(
    truth: Truth, seed: int, hidden: Mapping[str, tuple[float, float]] = HIDDEN, **sizes: int
) -> tuple[dict[tuple[str, int], Predictions], dict[tuple[str, int], Predictions]]:
    """Draw the predictions of both populations under corruptions that hide images; see `simulate` and `HIDDEN`."""
    populations = simulate(truth, seed, **sizes)
    rng = np.random.default_rng([seed, 1])
    sides: tuple[dict, dict] = {}, {}
    for corruption, shares in hidden.items():
        luck = rng.random(populations[0].num_examples)
        for side, predictions, share in zip(sides, populations, shares, strict=True):
            labels = predictions.labels
            out_of_sight = luck[:, None] < share
            side[corruption, 1] = Predictions(
                labels,
                np.where(out_of_sight, (labels[:, None] + 1) % 10, predictions.ranked),
                class_names=predictions.class_names,
                parents=predictions.parents,
            )
    return sides


def ratios_held(truth: Truth, seed: int, *, members: int, images: int) -> dict[str, bool]:
    """Return whether the intervals of a study under corruption hold the true ratios, by their names in tables."""
    before = RECALLS.mean()
    after = before + expected_changes(truth, members).mean()
    fog, snow = ((before * (1 - hidden[0]), after * (1 - hidden[1])) for hidden in HIDDEN.values())
    error, other = ((1 - rates[1]) / (1 - rates[0]) for rates in (fog, snow))
    found = robustness(*simulate_corrupted(truth, seed, members=members, images=images))
    rows, overall = found.corruptions.iloc[0], found.overall.iloc[0]
    ends = {
        "relative change": (rows, "relative", fog[1] / fog[0] - 1),
        "corruption error": (rows, "corruption_error", error),
        "mCE": (overall, "corruption_error", (error + other) / 2),
    }
    return {
        name: row[f"{column}_low"] <= true <= row[f"{column}_high"]
        for name, (row, column, true) in ends.items()
    }


ALIKE = {f"fog {i}": (0.1, 0.13) for i in range(10)}
"""Ten corruptions that all cost the compressed model as much."""


def corruption_outcomes(
    truth: Truth,
    seed: int,
    hidden: Mapping[str, tuple[float, float]],
    *,
    members: int,
    images: int,
) -> dict[str, str]:
    """Return the gate's outcomes if the true drop under corruption is 1.1 times, exactly and .9 times its limit."""
    before = RECALLS.mean()
    after = before + expected_changes(truth, members).mean()
    worst = max(before * (1 - first) - after * (1 - second) for first, second in hidden.values())
    sizes = {"members": members, "images": images}
    measured = measure(*simulate(truth, seed, **sizes))
    measured = measured.with_corruptions(simulate_corrupted(truth, seed, hidden, **sizes))
    return {
        ratio: judge(measured, Limits(corruption_drop_pp=100 * worst / float(ratio))).outcome
        for ratio in ("1.1", "1", "0.9")
    }


def class_names(classes: int) -> tuple[str, ...]:
    """Return the names of classes, which repeat after ten with a number."""
    return tuple(
        name if c < 10 else f"{name} {c // 10 + 1}"
        for c, name in enumerate((CLASSES * classes)[:classes])
    )


def with_losses(losses: np.ndarray, **changes: float | bool) -> Truth:
    """Return a truth in which class c loses `losses[c]`, a share."""
    recalls = np.resize(RECALLS, len(losses)) - losses
    names = class_names(len(losses))
    return Truth(
        recalls={name: (recall,) for name, recall in zip(names, recalls, strict=True)}, **changes
    )


def expected_changes(truth: Truth, members: int, classes: int = 10) -> np.ndarray:
    """Return the `(C,)` expected changes of recall, shares, over new images and members."""
    names = class_names(classes)
    before = np.resize(RECALLS, classes)
    changes = np.full(classes, -truth.everywhere)
    for name, recalls in truth.recalls.items():
        row = names.index(name)
        changes[row] = np.resize(recalls, members).mean() - before[row]
    lost = np.array([truth.lost_alike.get(name, 0.0) for name in names])
    return changes - lost * (before + changes)


def true_slope(truth: Truth, classes: int = 10) -> float:
    """Return the slope of recall distortion of the expected recalls, which all members share."""
    before = np.resize(RECALLS, classes)
    after = before + expected_changes(truth, 1, classes)
    balances = [recalls / recalls.mean() - 1 for recalls in (before, after)]
    return float(balances[0] @ balances[1] / (balances[0] @ balances[0]))


def simulated_store(
    directory: Path, truth: Truth, seed: int, *, members: int, images: int = 500
) -> Store:
    """Write one simulated study of ten classes, without images, whose one variant is called small."""
    return simulated_variants(directory, {"small": truth}, seed, members=members, images=images)


def simulated_variants(
    directory: Path, truths: Mapping[str, Truth], seed: int, *, members: int, images: int = 500
) -> Store:
    """Write one simulated study of ten classes, without images, with a variant for each truth, by its name."""
    drawn = {
        name: simulate(truth, seed, members=members, images=images)
        for name, truth in truths.items()
    }
    facts = pd.DataFrame(
        [[4.0e6, 3.6e6], *[[1.0e6, 0.9e6]] * len(drawn)],
        ["baseline", *drawn],
        ["bytes", "gzipped_bytes"],
    )
    return import_predictions(
        directory,
        next(iter(drawn.values()))[0],
        {name: after for name, (_, after) in drawn.items()},
        name="simulated",
        model="simulated members",
        dataset="simulated garments",
        paired=[name for name, truth in truths.items() if truth.paired],
        facts=facts,
    )


def _right(
    recalls: np.ndarray,
    labels: np.ndarray,
    scales: tuple[float, np.ndarray],
    ease: np.ndarray,
    own: list[np.ndarray],
) -> np.ndarray:
    """Return `(K, N)` booleans, whether members of these expected recalls `(K, C)` recognise the images.

    `scales` are the factors on the strength and on the knack for each class, `(C,)`.
    """
    strength, knack, noise = own
    of_strength, of_knack = STRENGTH * scales[0], KNACK * scales[1]
    total = np.sqrt(EASE**2 + NOISE**2 + of_strength**2 + of_knack**2)
    place = total * special.ndtri(recalls) + of_strength * strength + of_knack * knack
    place = place.astype(np.float32)
    return place[:, labels] + EASE * ease + NOISE * noise > 0


def _turned(values: np.ndarray, share: float, fresh: np.ndarray) -> np.ndarray:
    """Return normals of which a share is fresh: their distribution does not change."""
    return np.float32(np.sqrt(1 - share**2)) * values + np.float32(share) * fresh


RANDOM_TRUTHS = (
    TRUTHS["nothing changes"],
    TRUTHS["Coat collapses"],
    Truth(everywhere=0.01, image_shift=0.05),
    Truth(recalls={"Trouser": (0.85,)}, image_shift=0.05, member_shift=0.1),
    Truth(everywhere=0.15),
)


def random_store(directory: Path, seed: int) -> Store:
    """Write a simulated study of one to four variants, whose shape and truth are drawn: sizes may be unknown."""
    rng = np.random.default_rng([seed, 2])
    members = int(rng.choice([1, 2, 4]))
    shape: dict[str, int] = {
        "members": members,
        "images": int(rng.choice([40, 150, 400])),
        "classes": int(rng.choice([5, 10, 60], p=[0.3, 0.5, 0.2])),
    }
    names = rng.permutation(["int8", "pruned, 50 %", "<b>half</b>", "a|b 4"]).tolist()
    names = names[: rng.integers(1, 5)]
    populations, paired = {}, []
    for name in names:
        truth = RANDOM_TRUTHS[rng.integers(len(RANDOM_TRUTHS))]
        if members == 1 or rng.random() < 0.5:
            truth = dataclasses.replace(truth, paired=True)
            paired.append(name)
        baseline, populations[name] = simulate(truth, seed, **shape)
    sizes = 4e6 * rng.uniform(0.1, 1, (len(names), 1)) * [1, 0.9]
    facts = pd.DataFrame(
        [[4e6, 3.6e6], *sizes], ["baseline", *names], ["bytes", "gzipped_bytes"]
    ).iloc[:, : rng.integers(3)]
    return import_predictions(
        directory,
        baseline,
        populations,
        name=f"study {seed}",
        model="simulated members",
        dataset="simulated garments",
        paired=paired,
        facts=facts,
    )
