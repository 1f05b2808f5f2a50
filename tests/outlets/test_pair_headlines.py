"""Sentences about one model against one name what is shown, and say where nothing is."""

import numpy as np
import pytest

from tests.builders.populations import population
from tfaudit.audits.model_pair.model_pair import compare
from tfaudit.outlets.pair_headlines import accuracy_sentence, classes_sentence, predictions_sentence
from tfaudit.predictions import Predictions

NAMES = ("Shirt", "Coat", "Bag")


def pair(lost=(0, 0, 0), won=(0, 0, 0), other=0, images=200):
    """Compare models of 200 images a class, of which the first ones are lost and the next ones won."""
    labels, position = np.repeat(np.arange(3), images), np.tile(np.arange(images), 3)
    wrong, losses = (labels + 1) % 3, np.array(lost)[labels]
    gains = position - losses
    before = np.where((gains >= 0) & (gains < np.array(won)[labels]), wrong, labels)
    after = np.where(position < losses, wrong, labels)
    before[images - other : images], after[images - other : images] = 1, 2
    return compare(
        *(Predictions.from_top1(labels, one, class_names=NAMES) for one in (before, after))
    )


def test_the_classes_that_lose_are_named_the_worst_first():
    text = classes_sentence(pair(lost=(30, 60, 0), won=(0, 0, 20)))
    correction = "McNemar's test, Holm's correction for 3 classes"
    assert text == (
        f"Classes Coat (−30.0 points) and Shirt (−15.0 points) lose recall ({correction}). "
        f"Class Bag (+10.0 points) gains recall ({correction})."
    )


def test_where_no_loss_is_shown_the_largest_is_named_with_its_interval():
    found = pair(lost=(4, 0, 0), won=(1, 0, 0))
    row = found.frame().iloc[0]
    ends = " to ".join(
        f"{row[f'change_{end}_pp']:+.1f}".replace("-", "−") for end in ("low", "high")
    )
    assert classes_sentence(found) == (
        f"None of 3 classes is shown to lose recall; the largest loss is that of class Shirt: −1.5 ({ends})."
    )
    text = classes_sentence(pair(lost=(6, 0, 0)))
    assert text.endswith("), judged alone; among 3 classes this may be chance.")
    assert classes_sentence(pair()) == "None of 3 classes is shown to lose recall."


def test_a_collapse_comes_first():
    text = classes_sentence(pair(lost=(0, 150, 0)))
    assert text.startswith(
        "Collapsed: class Coat (100.0\u00a0% → 25.0\u00a0%). Class Coat (−75.0 points) loses recall ("
    )


def test_predictions_not_modal_labels():
    kinds = "3 from right to wrong, 2 from wrong to right, 1 from wrong to another wrong"
    assert predictions_sentence(pair(lost=(3, 0, 0), won=(0, 2, 0), other=1)) == (
        f"6 predictions change (1.0\u00a0%): {kinds}."
    )
    assert predictions_sentence(pair(lost=(1, 0, 0))).startswith(
        "1 prediction changes (0.2\u00a0%)"
    )
    assert predictions_sentence(pair()) == "No prediction changes."


@pytest.mark.parametrize("hurt", [(), (2,)])
def test_accuracy_has_its_interval_and_p(hurt):
    found = compare(
        population(1, members=1, examples=500), population(2, members=1, examples=500, hurt=hurt)
    )
    summary, text = found.summary(), accuracy_sentence(found)
    assert (
        f"{100 * summary['accuracy_after']:.2f}\u00a0%: {summary['change_pp']:+.1f}".replace(
            "-", "−"
        )
        in text
    )
    assert f"p\u00a0=\u00a0{summary['change_p']:.2g}" in text
