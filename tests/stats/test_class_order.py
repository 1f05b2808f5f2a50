"""Outputs in another order than the classes are found, and models that confuse classes are not taken for them."""

import numpy as np
import pytest

from tfaudit.stats.class_order import fitting_order


def predictions(rng, classes, examples, accuracy=0.9):
    labels = np.repeat(np.arange(classes), examples)
    guesses = rng.integers(0, classes, len(labels))
    return labels, np.where(rng.random(len(labels)) < accuracy, labels, guesses)


@pytest.mark.parametrize(
    ("classes", "examples", "moved"),
    [(2, 20, 2), (10, 20, 2), (10, 20, 3), (10, 10, 10), (100, 30, 2), (1000, 50, 2), (1500, 8, 9)],
)
def test_outputs_in_another_order_are_found(rng, classes, examples, moved):
    labels, predicted = predictions(rng, classes, examples)
    order = np.arange(classes)
    chosen = rng.permutation(classes)[:moved]
    order[chosen] = np.roll(chosen, 1)
    outputs = np.argsort(order)[predicted]
    found = fitting_order(labels, outputs, classes)
    if examples < np.log2(classes):
        assert found is None
    else:
        np.testing.assert_array_equal(found, order)
        shuffled = rng.permutation(len(labels))
        again = fitting_order(labels[shuffled], outputs[shuffled], classes)
        np.testing.assert_array_equal(again, order)
    assert fitting_order(labels, predicted, classes) is None


@pytest.mark.parametrize(
    "shares",
    [
        [[0.1, 0.9, 0], [0, 1, 0], [0, 0, 1]],  # a class that is always taken for another
        [[0.55, 0.45, 0], [0.45, 0.55, 0], [0, 0, 1]],  # twins
        [[0, 1, 0], [0, 1, 0], [0, 1, 0]],  # one prediction for all
        [[0, 0.6, 0.4], [0, 0.4, 0.6], [0, 0.5, 0.5]],  # chance
        [[0.2, 0.8, 0], [0, 0.2, 0.8], [0, 0, 1]],  # everything one grade too high
    ],
)
@pytest.mark.parametrize("examples", [(50, 50, 50), (500, 20, 50), (0, 50, 500)])
def test_models_that_confuse_classes_are_honest(shares, examples):
    counts = np.round(np.array(shares) * np.array(examples)[:, None]).astype(int)
    labels, predicted = (
        np.repeat(place, counts.ravel()) for place in np.indices((3, 3)).reshape(2, 9)
    )
    assert fitting_order(labels, predicted, 3) is None


def test_ten_frames_of_a_film_count_once(rng):
    labels = np.repeat([0, 1], 20)
    films = np.repeat(np.arange(4), 10)
    assert fitting_order(labels, 1 - labels, 2).tolist() == [1, 0]
    assert fitting_order(labels, 1 - labels, 2, films) is None
    singles = np.arange(40)
    assert fitting_order(labels, 1 - labels, 2, singles).tolist() == [1, 0]


def honest_model(rng, classes):
    """A linear classifier of Gaussian classes, with wrong weights and offsets; some outputs are never the largest."""
    size = rng.integers(2, 20)
    means = rng.normal(0, 1, (classes, size))
    if rng.random() < 0.3:
        means[1::2] = means[: classes - 1 : 2][: classes // 2] + rng.normal(0, 0.1, size)
    weights = means + rng.uniform(0, 1.2) * rng.integers(0, 2) * rng.normal(0, 1, means.shape)
    offsets = rng.normal(0, rng.uniform(0, 3), classes) - np.square(weights).sum(1) / 2
    offsets[rng.random(classes) < rng.choice([0, 0.3])] -= 50
    labels = np.repeat(np.arange(classes), np.exp(rng.uniform(0, 5, classes)).astype(int))
    noise = rng.uniform(0.3, 3) * rng.normal(0, 1, (len(labels), size))
    return labels, ((means[labels] + noise) @ weights.T + offsets).argmax(1)


@pytest.mark.parametrize("models", [150, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_false_alarms(rng, models):
    suspected = []
    for _ in range(models):
        classes = rng.choice([2, 3, 5, 10, 30])
        labels, predicted = honest_model(rng, classes)
        order = fitting_order(labels, predicted, classes)
        if order is not None:
            suspected.append([(predicted == labels).mean(), (order[predicted] == labels).mean()])
    assert len(suspected) <= 0.002 * models
    assert all(right < 0.5 and fitting > right for right, fitting in suspected)
