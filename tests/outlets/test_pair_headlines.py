"""Sentences about one model against one name what is shown, and say where nothing is."""

import numpy as np
import pytest

from tfaudit.audits.model_pair.model_pair import compare
from tfaudit.outlets.pair_headlines import classes_sentence, predictions_sentence
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


HOLM = "(McNemar's test, Holm's correction for 3 classes)"
SAID = [
    (
        {"lost": (30, 60, 0), "won": (0, 0, 20)},
        f"Classes Coat (−30.0 points) and Shirt (−15.0 points) lose recall {HOLM}. "
        f"Class Bag (+10.0 points) gains recall {HOLM}.",
    ),
    (
        {"lost": (0, 150, 0)},
        f"Collapsed: class Coat (100.0~% → 25.0~%). Class Coat (−75.0 points) loses recall {HOLM}.",
    ),
    (
        {"lost": (3, 0, 0), "won": (0, 2, 0), "other": 1},
        "None of 3 classes is shown to lose recall; the largest loss is that of class Shirt: −1.5 (−4.3 to +0.4). "
        "6 predictions change (1.0~%): 3 from right to wrong, 2 from wrong to right, 1 from wrong to another wrong.",
    ),
    (
        {"lost": (6, 0, 0)},
        "None of 3 classes is shown to lose recall; the largest loss is that of class Shirt: −3.0 (−6.4 to −1.1), "
        "judged alone; among 3 classes this may be chance.",
    ),
    ({}, "None of 3 classes is shown to lose recall. No prediction changes."),
    ({"lost": (1, 0, 0)}, "(−2.8 to +1.4). 1 prediction changes (0.2~%): "),
]


@pytest.mark.parametrize(("changes", "text"), SAID)
def test_what_is_said_of_classes_and_predictions(changes, text):
    found = pair(**changes)
    told = f"{classes_sentence(found)} {predictions_sentence(found)}"
    assert text.replace("~", "\u00a0") in told
