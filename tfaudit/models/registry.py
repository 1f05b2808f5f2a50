"""Registry of architectures: models by name, from pixels 0..255 to logits."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import keras
import numpy as np

from tfaudit.errors import InputError, require, require_least, require_one_of
from tfaudit.extensions import Registry
from tfaudit.models.convnet import cifar_convnet, digits_convnet
from tfaudit.models.lenet import lenet_p, lenet_r
from tfaudit.models.resnet import resnet


@dataclass(frozen=True)
class Architecture:
    """Function from normalised images `(B, H, W, C)` to features `(B, F)`; its keyword arguments are the options.

    Every architecture has the option `width`, which multiplies the published filters and units, for trials.
    """

    body: Callable[..., keras.KerasTensor]
    smallest: int  # least height and width of the images, in pixels


ARCHITECTURES: Mapping[str, Architecture] = Registry(
    "architectures",
    {
        "digits_convnet": Architecture(digits_convnet, smallest=4),
        "cifar_convnet": Architecture(cifar_convnet, smallest=8),
        "lenet_r": Architecture(lenet_r, smallest=12),
        "lenet_p": Architecture(lenet_p, smallest=10),
        **{
            f"resnet{depth}": Architecture(partial(resnet, depth=depth), smallest=4)
            for depth in (20, 32, 44, 56, 110)
        },
    },
)
"""Architectures by name: a new architecture is a function and one entry here, or in an extension."""


def build_model(
    name: str,
    input_shape: Sequence[int | None],
    num_classes: int,
    *,
    mean: float | Sequence[float] | np.ndarray = 0.0,
    std: float | Sequence[float] | np.ndarray = 255.0,
    classifier_std: float | None = None,
    **options: Any,
) -> keras.Model:
    """Build an untrained functional model with its preprocessing: float pixels 0..255 in, float32 logits out.

    Its first layer computes `(pixel - mean) / std`, so the saved model and the flatbuffer need no preprocessing. Its
    last layer is `logits`. Keras' global seed (`keras.utils.set_random_seed`) determines the weights.

    Args:
        name: name of the architecture, a key of `ARCHITECTURES`.
        input_shape: shape `(H, W, C)` of the images, without None.
        num_classes: number of logits, at least 2.
        mean: mean of the pixels in 0..255, a number or one per channel `(C,)`; `Dataset.moments` computes it.
        std: positive standard deviation of the pixels, in the same form.
        classifier_std: positive standard deviation of the normal distribution from which the kernel of `logits` is
            drawn; by default it is drawn from Glorot's uniform distribution.
        **options: keywords of the architecture, such as `filters` of `digits_convnet`, and `width`, a multiple of the
            published filters and units, for trials.

    Raises:
        InputError: the name or an option is unknown, the images are too small, or a deviation or mean does not fit.

    >>> build_model("lenet_r", (28, 28, 1), 10).count_params()
    61706
    """
    require_one_of("model", name, ARCHITECTURES)
    architecture = ARCHITECTURES[name]
    shape = _checked_shape(name, input_shape, architecture.smallest)
    require_least(2, num_classes=num_classes)
    parameters = inspect.signature(architecture.body).parameters.values()
    fixed = architecture.body.keywords if isinstance(architecture.body, partial) else {}
    allowed = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in fixed]
    for option in options:
        require(option in allowed, "options", option, f"options of {name!r}: {', '.join(allowed)}")

    initializer: Any = "glorot_uniform"
    if classifier_std is not None:
        require(classifier_std > 0, "classifier_std", classifier_std, "a positive number")
        initializer = keras.initializers.RandomNormal(stddev=classifier_std)
    scale, offset = _rescaling(mean, std, channels=shape[2])
    images = keras.Input(shape, name="images")
    normalised = keras.layers.Rescaling(scale, offset, dtype="float32", name="normalise")(images)
    features = architecture.body(normalised, **options)
    logits = keras.layers.Dense(
        num_classes, kernel_initializer=initializer, dtype="float32", name="logits"
    )(features)
    return keras.Model(images, logits, name=name)


def _checked_shape(
    name: str, input_shape: Sequence[int | None], smallest: int
) -> tuple[int, int, int]:
    height, width, channels = input_shape if len(input_shape) == 3 else (None, None, None)
    if height is None or width is None or channels is None or channels < 1:
        raise InputError(
            "input_shape", str(tuple(input_shape)), "(height, width, channels), all of them numbers"
        )
    at_least = f"at least {smallest} x {smallest} pixels for {name!r}"
    require(min(height, width) >= smallest, "input_shape", tuple(input_shape), at_least)
    return height, width, channels


def _rescaling(mean: Any, std: Any, channels: int) -> tuple[Any, ...]:
    """Return scale and offset of the first layer as JSON values: numbers, or lists with one per channel."""
    means = np.atleast_1d(np.asarray(mean, float))
    stds = np.atleast_1d(np.asarray(std, float))
    for argument, values in (("mean", means), ("std", stds)):
        valid = values.shape in ((1,), (channels,)) and bool(np.isfinite(values).all())
        require(valid, argument, values.tolist(), f"one finite number or {channels}")
    expected = "positive numbers; a constant channel has 0"
    require(bool((stds > 0).all()), "std", stds.tolist(), expected)
    return tuple(
        values.item() if values.size == 1 else values.tolist()
        for values in (1 / stds, -means / stds)
    )
