"""Rates per class against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import precision_recall_fscore_support

from tests.builders.populations import population
from tfaudit.audits.classes.class_rates import METRICS, class_rates
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions


@pytest.mark.parametrize("metric", METRICS)
def test_equals_scikit_learn(metric):
    answers = population(1, hurt=[3])
    references = [
        precision_recall_fscore_support(answers.labels, row, labels=range(5), zero_division=0)[
            ["precision", "recall", "f1"].index(metric)
        ]
        for row in answers.top1
    ]
    np.testing.assert_allclose(class_rates(answers, metric), references)


@pytest.mark.parametrize("metric", METRICS)
def test_a_class_never_answered_has_rate_zero_and_one_without_examples_none(metric):
    answers = Predictions.from_top1([0, 0, 1, 1], [0, 2, 0, 0], class_names="abcd")
    rates = class_rates(answers, metric)[0]
    reference = precision_recall_fscore_support(
        answers.labels, answers.top1[0], labels=range(4), zero_division=0
    )
    expected = reference[["precision", "recall", "f1"].index(metric)]
    np.testing.assert_allclose(rates, [*expected[:2], np.nan, np.nan])
    assert rates[1] == 0


def test_unknown_metric():
    with pytest.raises(InputError, match="metric: got 'accuracy', expected 'recall', 'precision'"):
        class_rates(population(1), "accuracy")
