"""[R]'s methods against ShrinkBench, which its authors used: reimplemented from its published definitions.

ShrinkBench (pruning/utils.py) keeps a fraction f of the weights by a threshold, `np.quantile(scores, 1 - f)`: a weight
goes where its score is below it. A quantile lies between two weights where (n - 1)(1 - f) is not whole, so it keeps
`n - ceil((n - 1)(1 - f))` of n without ties, where we keep `round(n f)`: one weight more or less. It keeps all ties.
The authors' undecayed score has no absolute value, so there it also keeps what is below the negative of the threshold;
our score is the formula of the paper.
"""

import math

import numpy as np
import pytest

from tests.builders.pruning_reference import keep_count, loss_gradients
from tests.builders.small_nets import X, Y, small_model
from tfaudit.compress.pruning.kernels import find_kernels
from tfaudit.compress.pruning.one_shot import prune

EPS = 0.02


def shrinkbench(scores, fraction, scope):
    """`fraction_mask` of each kernel, or `importance_masks` with the threshold of all."""
    if scope == "global":
        threshold = np.quantile(
            np.concatenate([each.ravel() for each in scores.values()]), 1 - fraction
        )
        return {name: each >= threshold for name, each in scores.items()}
    return {name: each >= np.quantile(each, 1 - fraction) for name, each in scores.items()}


@pytest.mark.parametrize("scope", ["layer", "global"])
@pytest.mark.parametrize("method", ["magnitude", "gradient", "undecayed"])
def test_equal_but_for_the_weight_at_the_threshold(method, scope):
    model = small_model()
    kernels = find_kernels(model)
    values = {name: kernel.numpy() for name, kernel in kernels.items()}
    scores = values
    if method != "magnitude":
        slopes = loss_gradients(model, kernels, (X, Y))
        decay = EPS if method == "undecayed" else 0
        scores = {name: decay * w**2 - w * slopes[name] for name, w in values.items()}
    scores = {name: np.abs(score) for name, score in scores.items()}
    groups = [list(kernels)] if scope == "global" else [[name] for name in kernels]
    settings = {"method": method, "scope": scope, "gradient_data": (X, Y), "decay": EPS}
    for fraction in (0.9, 0.5, 0.25, 0.1, 0.02):
        for name, kernel in kernels.items():
            kernel.assign(values[name])
        masks = prune(model, 1 - fraction, **settings), shrinkbench(scores, fraction, scope)
        for group in groups:
            flat = (np.concatenate([of[name].ravel() for name in group]) for of in (scores, *masks))
            assert_alike(*flat, fraction)


def assert_alike(scores, ours, theirs, fraction):
    assert len(set(scores.tolist())) == len(scores)
    assert ours.sum() == keep_count(len(scores), 1 - fraction)
    assert theirs.sum() == len(scores) - math.ceil((len(scores) - 1) * (1 - fraction) - 1e-9)
    differ = np.flatnonzero(ours != theirs)
    assert len(differ) <= 1
    assert all(scores[i] == scores[ours | theirs].min() for i in differ)
