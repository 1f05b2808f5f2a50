"""Pruning scores: one function per pruning method; the weights with the lowest scores are pruned first.

A new method is one decorated function in this module; `prune`, `Pruning`, `tfaudit.Pruned` and the contract test find
it in `GRANULARITIES`. The names of its parameters are its inputs, and the caller supplies only these:

- `weights`: values of the kernel, in its shape.
- `gradients`: derivatives of the loss with respect to the weights, in the same shape.
- `class_gradients`: derivatives of the loss of each class's examples, `(classes, *shape)`.
- `class_totals`: sum of `|w dL_c/dw|` over the weights of all kernels for each class, `(classes,)`.
- `draws`: one number in [0, 1) per score, drawn once from the seed.
- `decay`: coefficient of weight decay, a number.
- `norm`: function that returns the norm of a given order of each channel's weights, `(channels,)`.
- what the `score_inputs` of extensions measure on examples, such as the channel independence of `chip`.

Scores are floating-point numbers >= 0, in the shape of the kernel or `(channels,)`. The functions take NumPy arrays and
tensors alike: `tfaudit.prune` and the compiled training step share them.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tfaudit.errors import require, require_one_of
from tfaudit.extensions import Registry

_OURS: dict[str, dict[str, Callable[..., Any]]] = {"weight": {}, "channel": {}}

GRANULARITIES: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "weight": _OURS["weight"],
    "channel": Registry("channel_scores", _OURS["channel"]),
}
"""Scoring functions by method name, for each granularity: the unit that is scored and pruned as one."""

SCORE_INPUTS: Mapping[str, Callable[..., Any]] = Registry("score_inputs", {})
"""Functions that measure a score's input on a batch, like `batch_gradients`, by the input's name."""


def _scores(*granularities: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a scoring function under its name."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for granularity in granularities:
            _OURS[granularity][function.__name__] = function
        return function

    return register


@_scores("weight")
def magnitude(weights: Any) -> Any:
    """Return the absolute value of each weight, [F], [R] MP.

    >>> magnitude(np.array([-2.0, 0.5])).tolist()
    [2.0, 0.5]
    """
    return abs(weights)


@_scores("weight")
def gradient(weights: Any, gradients: Any) -> Any:
    """Return `|w dL/dw|`, the first-order change of the loss when the weight is removed, [R] GP.

    >>> gradient(np.array([-2.0, 0.5]), np.array([0.1, 4.0])).tolist()
    [0.2, 2.0]
    """
    return abs(weights * gradients)


@_scores("weight")
def undecayed(weights: Any, gradients: Any, decay: Any) -> Any:
    """Return `|-w dL/dw + eps w^2|`: `gradient` for the loss without its weight decay `eps/2 |w|^2`, [R] 3, UP.

    If L includes the decay, this is `|w dD/dw|`, where D is the loss of the data alone. The authors' code uses the
    derivative of D in place of dL/dw: near a minimum of D the score is then proportional to w^2, as in magnitude
    pruning.

    >>> undecayed(np.array([-2.0, 0.5]), np.array([0.1, 0.0]), 0.5).tolist()
    [2.2, 0.125]
    """
    return abs(decay * weights * weights - weights * gradients)


@_scores("weight")
def class_gradient(weights: Any, class_gradients: Any, class_totals: Any) -> Any:
    """Return a weight's largest share, over the classes c, in the sum of `|w dL_c/dw|` of all weights.

    L_c is the loss of the examples of class c. A class with few examples or small gradients counts as much as any
    other: weights that one class needs stay, even if they hardly change the loss of all examples. Lin, Kim and Joo
    (2022) balance the shares of groups in this way, one weight after another; here all weights are ranked at once.

    >>> gradients = np.array([[8.0, 1.0, 1.0], [0.0, 0.1, 0.3]])
    >>> class_gradient(np.ones(3), gradients, gradients.sum(axis=1))
    array([0.8 , 0.25, 0.75])
    """
    largest = abs(weights * class_gradients[0]) / class_totals[0]
    for c in range(1, class_totals.shape[0]):
        share = abs(weights * class_gradients[c]) / class_totals[c]
        largest = (
            share + (abs(largest - share) + (largest - share)) / 2
        )  # the larger one, for arrays and tensors alike
    return largest


@_scores("weight", "channel")
def random(draws: Any) -> Any:
    """Return seeded uniform numbers, which never change, so that pruned weights stay pruned, [R] RP, [P]."""
    return draws


@_scores("channel")
def l1(norm: Callable[[float], Any]) -> Any:
    """Return the sum of the magnitudes of each channel's weights, [P] l1_structured."""
    return norm(1)


@_scores("channel")
def l2(norm: Callable[[float], Any]) -> Any:
    """Return the Euclidean norm of each channel's weights, [P] l2_structured."""
    return norm(2)


@_scores("channel")
def linf(norm: Callable[[float], Any]) -> Any:
    """Return the largest magnitude among each channel's weights, [P] linfty_structured."""
    return norm(np.inf)


def check_method(method: str, granularity: str) -> None:
    """Raise an `InputError` for an unknown granularity, or a method that does not score its units."""
    require_one_of("granularity", granularity, GRANULARITIES)
    methods = GRANULARITIES[granularity]
    expected = " or ".join(map(repr, methods)) + f" with granularity={granularity!r}"
    require(isinstance(method, str) and method in methods, "method", method, expected)


def score_inputs(method: str, granularity: str = "weight") -> frozenset[str]:
    """Return the names of the inputs of a method's scoring function.

    >>> sorted(score_inputs("magnitude"))
    ['weights']
    """
    return frozenset(inspect.signature(GRANULARITIES[granularity][method]).parameters)


def draws_for(position: int, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Return float32 numbers in [0, 1) in the shape of a kernel's scores, seeded by its position among pruned kernels.

    They do not depend on the kernel's name: Keras numbers the models of a process, and variable paths contain the
    number.

    >>> bool((draws_for(1, (2, 2), seed=0) == draws_for(1, (2, 2), seed=0)).all())
    True
    """
    return np.random.default_rng([seed, position]).random(shape, dtype=np.float32)
