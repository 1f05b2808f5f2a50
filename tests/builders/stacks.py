"""A network of layers one after another."""

import keras


def stack(shape, *layers, **settings):
    """Return a Sequential model for inputs of a shape."""
    return keras.Sequential([keras.Input(shape), *layers], **settings)
