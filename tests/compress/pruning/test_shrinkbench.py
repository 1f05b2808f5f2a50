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

FRACTIONS = (0.9, 0.5, 0.25, 0.1, 0.02)


def shrinkbench(scores, fraction, scope):
    """`fraction_mask` of each kernel, or `importance_masks` with the threshold of all."""
    if scope == "global":
        threshold = np.quantile(
            np.concatenate([each.ravel() for each in scores.values()]), 1 - fraction
        )
        return {name: each >= threshold for name, each in scores.items()}
    return {name: each >= np.quantile(each, 1 - fraction) for name, each in scores.items()}


@pytest.mark.parametrize("fraction", FRACTIONS)
@pytest.mark.parametrize("scope", ["layer", "global"])
@pytest.mark.parametrize("method", ["magnitude", "gradient"])
def test_equal_but_for_the_weight_at_the_threshold(method, scope, fraction):
    model = small_model()
    kernels = find_kernels(model)
    slopes = (
        loss_gradients(model, kernels, (X, Y))
        if method == "gradient"
        else dict.fromkeys(kernels, 1.0)
    )
    scores = {name: np.abs(kernel.numpy() * slopes[name]) for name, kernel in kernels.items()}
    theirs = shrinkbench(scores, fraction, scope)
    ours = prune(model, 1 - fraction, method=method, scope=scope, gradient_data=(X, Y))
    for group in [list(kernels)] if scope == "global" else [[name] for name in kernels]:
        values, one, other = (
            np.concatenate([of[n].ravel() for n in group]) for of in (scores, ours, theirs)
        )
        assert len(set(values.tolist())) == len(values)
        assert one.sum() == keep_count(len(values), 1 - fraction)
        assert other.sum() == len(values) - math.ceil((len(values) - 1) * (1 - fraction) - 1e-9)
        differ = np.flatnonzero(one != other)
        assert len(differ) <= 1
        assert all(values[i] == values[one | other].min() for i in differ)
