"""What the tests of pruning compare with."""

import pytest

from tests.builders.small_nets import fit, gradual, small_model


@pytest.fixture(scope="module")
def reference():
    """Weights, masks and losses of a plain pruned fit of two epochs."""
    model, pruning = small_model(), gradual()
    history = fit(model, pruning)
    return model, pruning.masks(), history.history
