"""Kinds of Keras layers by their computation."""

from collections.abc import Sequence

from keras import layers


def layer_kinds(*names: str, dimensions: Sequence[int] = (1, 2, 3)) -> tuple[type, ...]:
    """Return classes of `keras.layers` by name; a name with `{}` stands for one layer per number of dimensions.

    >>> [kind.__name__ for kind in layer_kinds("Dense", "Conv{}D", dimensions=(1, 2))]
    ['Dense', 'Conv1D', 'Conv2D']
    """
    spelled = [name.format(count) for name in names for count in dimensions]
    return tuple(getattr(layers, name) for name in dict.fromkeys(spelled))


TRANSPOSED = layer_kinds("Conv{}DTranspose")
DEPTHWISE = layer_kinds("DepthwiseConv{}D", dimensions=(1, 2))
SEPARABLE = layer_kinds("SeparableConv{}D", dimensions=(1, 2))
WEIGHTED = (*layer_kinds("Dense", "Conv{}D"), *TRANSPOSED, *DEPTHWISE, *SEPARABLE)
"""Dense layers and all convolutions."""
