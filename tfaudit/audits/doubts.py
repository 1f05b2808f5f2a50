"""Doubts about what a comparison compares, each of which forbids a verdict."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import special

from tfaudit.audits.comparison import Comparison
from tfaudit.errors import listed
from tfaudit.predictions import Predictions
from tfaudit.stats.changes import mean_change
from tfaudit.stats.class_order import fitting_order
from tfaudit.stats.contingency import chance_agreement

ACCURACY, ORDER = "baseline_accuracy", "class_order"
"""Names of doubts about a baseline: its accuracy, and the order of its classes."""

OUTPUTS = "output_order"
"""Name of the doubt about a compressed model whose outputs are in another order than the baseline's."""

GAIN_PP = 10.0
"""Gain of accuracy, percentage points, above which the baseline is in doubt: compression gives no such gain."""

NAMED = 10
"""Maximum number of outputs that a sentence names."""


@dataclasses.dataclass(frozen=True)
class Doubt:
    """A reason why figures may mean something else than they say: nothing can be judged by them.

    Attributes:
        name: what is in doubt: `ACCURACY`, `ORDER` or `OUTPUTS`.
        reason: what was found, as a sentence.
        remedy: what to do, as a sentence.
        value: the accuracy that was found, a share.
        limit: the accuracy that it is compared with, a share.
        order: class names in the order of the outputs that fits; empty if the order is not in doubt.
    """

    name: str
    reason: str
    remedy: str
    value: float
    limit: float
    order: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"Cannot judge. {self.sentence}"

    @property
    def sentence(self) -> str:
        """What was found and what to do."""
        return f"{self.reason} {self.remedy}"


OrderDoubts = tuple[tuple[Doubt, ...], tuple[Doubt, ...]]
"""Doubts about the order of the outputs of the baseline, and of the compressed model."""


def order_doubts(comparison: Comparison) -> OrderDoubts:
    """Return the doubts about the order of outputs, which do not depend on the level of the comparison."""
    baseline, clusters = comparison.baseline, comparison.clusters
    every_label = dict.fromkeys(range(baseline.num_members), baseline.labels)
    before = {
        after: baseline.top1[before] for before, after in zip(*comparison.compared, strict=True)
    }
    # One class for all images tells no order.
    before = {after: predicted for after, predicted in before.items() if np.ptp(predicted)}
    return (
        _other_orders(ORDER, baseline, every_label, clusters),
        _other_orders(OUTPUTS, comparison.compressed, before, clusters),
    )


def doubts_of(comparison: Comparison, orders: OrderDoubts | None = None) -> tuple[Doubt, ...]:
    """Return the doubts about a comparison.

    A baseline is in doubt if any of its members would be right in another order of its outputs (`fitting_order`) or is
    no better than chance, or if the compressed model is better by more than `GAIN_PP` points. A compressed model is in
    doubt if it would predict what the baseline predicts in another order of its outputs, which no compression causes.

    Args:
        comparison: the populations.
        orders: its `order_doubts` if they are known, None by default.

    Example:
        >>> labels = np.repeat([0, 1, 2], 40)
        >>> swapped = Predictions.from_top1(labels, np.repeat([0, 2, 1], 40), class_names=["cat", "dog", "fox"])
        >>> [doubt] = doubts_of(Comparison(swapped, swapped))
        >>> doubt.order, doubt.reason[:62]
        (('cat', 'fox', 'dog'), 'The baseline is right on 33.3 % of the examples, and would be ')
    """
    of_baseline, of_compressed = orders or order_doubts(comparison)
    return (
        of_baseline
        or not_above_chance(comparison.baseline, comparison.alpha, comparison.clusters)
        or of_compressed
        or _improbable_gain(comparison)
    )


_PREPARED_OTHERWISE = (
    "Is it the scale of the pixels (`--preprocess`), the order of the channels, or the order or numbering of the "
    "classes (`--classes FILE`)?"
)
_FEW = "There are too few examples, or clusters of examples, to tell."
_RUN_OTHERWISE = (
    "Does the baseline run as it was trained: on examples of the same scale (`--baseline-preprocess`), with its best "
    "weights?"
)
_REORDER = {
    ORDER: (
        "The baseline",
        "Are the classes in the order of its outputs? `--classes FILE` with the names in that order gives named "
        "classes their numbers; labels that are numbers must number the outputs.",
    ),
    OUTPUTS: (
        "The compressed model",
        "Its outputs are in another order than the baseline's: a fault of its file, not harm by compression.",
    ),
}


def not_above_chance(
    population: Predictions,
    alpha: float,
    clusters: np.ndarray | None = None,
    name: str = "The baseline",
) -> tuple[Doubt, ...]:
    """Return a doubt if a population, or any of its members, is no better than chance.

    Args:
        population: predictions of one or more members.
        alpha: level of the tests of whether they are better than chance.
        clusters: `(N,)` integers, the cluster of each image; None if the images are independent.
        name: name of the population at the beginning of a sentence.

    Example:
        >>> labels = np.arange(400) % 4
        >>> rolled = Predictions.from_top1(labels, (labels + np.arange(400) // 4) % 4)
        >>> not_above_chance(rolled, 0.05)[0].reason[:66]
        'The baseline is right on 25.00 % of the examples; chance alone giv'
    """
    expected, highest = accuracy_by_chance(population, alpha, clusters)
    right = population.accuracy()
    low = np.flatnonzero(right <= highest)  # none if chance is unknown
    if right.mean() <= highest.mean():
        low = np.arange(population.num_members)
    if not len(low):
        return ()
    accuracy, chance, most = (float(values[low].mean()) for values in (right, expected, highest))
    reason = (
        f"{_subject(name, population, low.tolist())} right on {100 * accuracy:.2f} % of the examples; "
        f"chance alone gives {100 * chance:.2f} % and up to {100 * most:.2f} %."
    )
    return (Doubt(ACCURACY, reason, _FEW if most >= 1 else _PREPARED_OTHERWISE, accuracy, most),)


def accuracy_by_chance(
    population: Predictions, alpha: float, clusters: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the accuracy of each member by chance, `(K,)` shares, and the most that chance explains (one-sided).

    Chance is that of a member that predicts each class as often, whatever the image; NaN if all images are of one
    class. Clusters of images with like labels and like predictions agree together, if they do by chance: the error is
    then over the clusters [Mi], but no smaller than that of independent images.

    Args:
        population: predictions of K members.
        alpha: level of the test of whether a member is better than chance.
        clusters: `(N,)` integers, the cluster of each image; None if the images are independent.
    """
    labels, count = population.labels, population.num_examples
    if (labels == labels[0]).all():
        unknown = np.full(population.num_members, np.nan)
        return unknown, unknown
    of_labels = np.bincount(labels, minlength=population.num_classes) / count
    of_predictions = population.predicted() / count
    expected, error = np.transpose(
        [chance_agreement(of_labels, member, count) for member in of_predictions]
    )
    quantile = special.ndtri(1 - alpha)
    if clusters is not None:
        right = population.right() - of_predictions[:, labels] - of_labels[population.top1]
        nothing = np.zeros((1, count))
        changes = [
            mean_change(nothing, member[None], paired=True, clusters=clusters) for member in right
        ]
        error = np.fmax(error, [float(change.error[0]) for change in changes])
        quantile = special.stdtrit(changes[0].df_images[0], 1 - alpha)
    return expected, np.minimum(expected + quantile * error, 1)


def _other_orders(
    name: str,
    population: Predictions,
    expected: Mapping[int, np.ndarray],
    clusters: np.ndarray | None,
) -> tuple[Doubt, ...]:
    """Return a doubt for each order of outputs in which members would predict the classes, `(N,)`, expected of each."""
    members: dict[tuple[int, ...], list[int]] = {}
    for member, classes in expected.items():
        predicted = population.top1[member]
        order = fitting_order(classes, predicted, population.num_classes, clusters)
        if order is not None:
            members.setdefault(tuple(order.tolist()), []).append(member)
    return tuple(
        _doubt_of_order(name, population, np.array(order), own) for order, own in members.items()
    )


def _doubt_of_order(
    name: str, population: Predictions, order: np.ndarray, members: Sequence[int]
) -> Doubt:
    subject, remedy = _REORDER[name]
    names = population.class_names
    predicted = population.top1[members]
    right, best = (
        float((classes == population.labels).mean()) for classes in (predicted, order[predicted])
    )
    outputs = tuple(names[label] for label in order)
    fitting = ", ".join(outputs)
    if len(order) > NAMED:
        moved = np.flatnonzero(order != np.arange(len(order)))
        fitting = listed([f"{outputs[i]} instead of {names[i]}" for i in moved], NAMED)
    reason = (
        f"{_subject(subject, population, members)} right on {100 * right:.1f} % of the examples, and would be on "
        f"{100 * best:.1f} % if its outputs were {fitting}."
    )
    return Doubt(name, reason, remedy, right, best, outputs)


def _improbable_gain(comparison: Comparison) -> tuple[Doubt, ...]:
    """Return a doubt about a baseline that is surely worse than the compressed model by more than `GAIN_PP` points."""
    sides = comparison.baseline, comparison.compressed
    before, after = (float(population.accuracy().mean()) for population in sides)
    if 100 * (after - before) <= GAIN_PP or not 100 * _least_gain(comparison) > GAIN_PP:
        return ()
    reason = (
        f"The baseline is right on {100 * before:.2f} % of the examples, the compressed model on {100 * after:.2f} %: "
        "compression gives no such gain."
    )
    return (Doubt(ACCURACY, reason, _RUN_OTHERWISE, before, after),)


def _least_gain(comparison: Comparison) -> float:
    """Return the lower end of the interval of the change of accuracy, a share."""
    whole = np.zeros_like(comparison.baseline.labels)
    if comparison.members == (1, 1):
        return float(comparison.exact_changes(whole, 1)[0][0])
    return float(comparison.changes(whole, 1).absolute.interval(comparison.confidence)[0][0])


def _subject(name: str, population: Predictions, members: Sequence[int]) -> str:
    """Return who is meant, with the verb: a population, or some of its members."""
    if len(members) == population.num_members:
        return f"{name} is"
    of = f"of {name[0].lower()}{name[1:]}"
    names = listed([population.members[member] for member in members])
    return f"Member {names} {of} is" if len(members) == 1 else f"Members {names} {of} are"
