"""What the tests of pruning compare with."""

import pytest

from tests.builders.small_nets import POLYNOMIAL, fit, small_model
from tfaudit.compress.pruning import schedules
from tfaudit.compress.pruning.pruning import Pruning


@pytest.fixture(scope="module")
def reference():
    """Weights, masks and losses of a plain pruned fit of two epochs."""
    model, pruning = small_model(), Pruning(schedules.polynomial(**POLYNOMIAL))
    history = fit(model, pruning)
    return model, pruning.masks(), history.history
