"""What a weight is worth: one function per pruning method; the weights with the lowest scores go first.

A method is a function of what its parameters name, most with the shape of the kernel: `weights`, the values of the
kernel; `gradients`, the derivatives of the loss by them; `draws`, a number from [0, 1) per score, drawn once from the
seed; and `decay`, the coefficient of weight decay, one number. Methods for whole channels give one score to each, from
`norm`, a function that tells the norm of each channel's weights of some order, or from `independence`, what
`pruning.chip` computes. Whoever prunes supplies what a method names. A score is a floating-point number >= 0.
The functions take NumPy arrays and tensors alike, so that `tfaudit.prune` and the compiled training step share them.
A new method is a function here and a line in `SCORES` or `CHANNEL_SCORES`.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = [
    "CHANNEL_SCORES",
    "GRANULARITIES",
    "SCORES",
    "chip",
    "draws_for",
    "gradient",
    "inputs",
    "l1",
    "l2",
    "linf",
    "magnitude",
    "random",
    "undecayed",
]


def magnitude(weights: Any) -> Any:
    """The absolute value of a weight, [F], [R] MP.

    >>> magnitude(np.array([-2.0, 0.5])).tolist()
    [2.0, 0.5]
    """
    return abs(weights)


def gradient(weights: Any, gradients: Any) -> Any:
    """`|w dL/dw|`, how far the loss moves to first order when the weight goes, [R] GP.

    >>> gradient(np.array([-2.0, 0.5]), np.array([0.1, 4.0])).tolist()
    [0.2, 2.0]
    """
    return abs(weights * gradients)


def undecayed(weights: Any, gradients: Any, decay: Any) -> Any:
    """`|-w dL/dw + eps w^2|`, the same for the loss without its weight decay `eps/2 |w|^2`, [R] 3, UP.

    Where L includes the decay this is `|w dD/dw|`, D the loss of the data alone. The authors' code puts the derivative
    of D in the place of dL/dw: near a minimum of D the score then goes by w^2, as magnitude pruning does.

    >>> undecayed(np.array([-2.0, 0.5]), np.array([0.1, 0.0]), 0.5).tolist()
    [2.2, 0.125]
    """
    return abs(decay * weights * weights - weights * gradients)


def random(draws: Any) -> Any:
    """A seeded uniform number, the same at every update, so that what is pruned stays pruned, [R] RP, [P]."""
    return draws


def l1(norm: Callable[[float], Any]) -> Any:
    """The sum of the magnitudes of a channel's weights, [P] l1_structured."""
    return norm(1)


def l2(norm: Callable[[float], Any]) -> Any:
    """The Euclidean norm of a channel's weights, [P] l2_structured."""
    return norm(2)


def linf(norm: Callable[[float], Any]) -> Any:
    """The largest magnitude among a channel's weights, [P] linfty_structured."""
    return norm(np.inf)


def chip(independence: Any) -> Any:
    """The independence of a channel's feature map from those of the others, [R] H."""
    return independence


SCORES: dict[str, Callable[..., Any]] = {
    "magnitude": magnitude,
    "gradient": gradient,
    "undecayed": undecayed,
    "random": random,
}


CHANNEL_SCORES: dict[str, Callable[..., Any]] = {"l1": l1, "l2": l2, "linf": linf, "random": random, "chip": chip}

GRANULARITIES = {"weight": SCORES, "channel": CHANNEL_SCORES}
"""What is scored, and stays or goes as one, with the methods that can score it."""


def inputs(method: str, granularity: str = "weight") -> frozenset[str]:
    """What the scoring function of a method asks for.

    >>> sorted(inputs("magnitude"))
    ['weights']
    """
    return frozenset(inspect.signature(GRANULARITIES[granularity][method]).parameters)


def draws_for(position: int, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """The random numbers of a kernel: they depend on its position, the number of its scores and the seed.

    Not on its name: Keras numbers the models of a process, and the number is part of the variables' paths.

    Args:
        position: of the kernel among those that are pruned.
        shape: of its scores.
        seed: an integer >= 0.

    Returns:
        float32 numbers from [0, 1) of that shape.

    >>> bool((draws_for(1, (2, 2), seed=0) == draws_for(1, (2, 2), seed=0)).all())
    True
    """
    return np.random.default_rng([seed, position]).random(shape, dtype=np.float32)
