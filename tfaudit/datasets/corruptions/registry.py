"""The registry of corruptions, which extensions add, with their constants at five severities. Imports nothing heavy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tfaudit.extensions import Registry

SEVERITIES = (1, 2, 3, 4, 5)
SCALES = ("imagenet", "cifar")

Constants = tuple[float, ...]


@dataclass(frozen=True)
class Corruption:
    """A corruption: its function, and its constants at five severities.

    Attributes:
        function: function that takes an image, uint8 `(H, W)` or `(H, W, 3)`, a random generator and the constants, and
            returns an image of the same shape and dtype.
        imagenet: constants of ImageNet-C at severities 1 to 5.
        cifar: constants of CIFAR-C at severities 1 to 5.
        cifar_edge: edge in pixels for which CIFAR-C's constants are stated, if they scale with the edge.
        textures: function that returns the textures in some files, or its own for None, if the corruption draws from
            textures; its function then takes them by this name.
    """

    function: Callable[..., Any]
    imagenet: tuple[Constants, ...]
    cifar: tuple[Constants, ...]
    cifar_edge: int | None = None
    textures: Callable[..., Any] | None = None


def corruption(
    imagenet: tuple[Constants, ...], cifar: tuple[Constants, ...], **settings: Any
) -> Callable[[Callable[..., Any]], Corruption]:
    """Return a decorator that makes a `Corruption` of its function.

    Constants: `make_imagenet_c.py` and `make_cifar_c.py` of github.com/hendrycks/robustness, of Hendrycks & Dietterich,
    "Benchmarking Neural Network Robustness to Common Corruptions and Perturbations" (ICLR 2019).
    """
    return lambda function: Corruption(function, imagenet, cifar, **settings)


def single(*values: float) -> tuple[Constants, ...]:
    """Return the levels of a corruption with one constant."""
    return tuple((value,) for value in values)


CORRUPTIONS: Mapping[str, Corruption] = Registry("corruptions", {})
"""Every corruption by its name."""


def corruption_names() -> tuple[str, ...]:
    """Return the names that `corrupt` takes: the benchmark's 15, then its 4 extra ones.

    Example:
        >>> corruption_names()[0], len(corruption_names())
        ('gaussian_noise', 19)
    """
    return tuple(CORRUPTIONS)


def corruption_title(name: str) -> str:
    """Return the name of a corruption, or of another set of images, in words.

    Example:
        >>> corruption_title("gaussian_noise"), corruption_title("imagenet_v2 3")
        ('gaussian noise', 'imagenet v2 3')
    """
    return name.replace("_", " ")
