"""A small classifier whose hidden layer has channels to spare, and its data: eight noisy features of four classes."""

import keras
import numpy as np

CLASSES = ("ant", "bee", "cat", "dog")


def blobs(count, seed, noise=0.25):
    """Return `(x, y)`: every class has a corner of its own."""
    draws = np.random.default_rng(seed)
    y = np.arange(count) % len(CLASSES)
    corners = np.random.default_rng(0).choice([-1.0, 1.0], (len(CLASSES), 8))
    return (corners[y] + draws.normal(0, noise, (count, 8))).astype("float32"), y


def classifier(units=512, epochs=6):
    """Return a trained model, not compiled."""
    keras.utils.set_random_seed(0)
    inputs = keras.Input((8,))
    hidden = keras.layers.Dense(units, activation="relu", name="hidden")(inputs)
    model = keras.Model(
        inputs, keras.layers.Dense(len(CLASSES), name="logits")(hidden), name="blobs"
    )
    return _trained(model, epochs)


def _trained(model, epochs=6):
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(*blobs(800, 1), epochs=epochs, batch_size=32, verbose=0)
    return model


def normalised():
    """Return a trained model with BatchNormalization, whose moving averages follow slowly; not compiled."""
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Dense(16), keras.layers.BatchNormalization(), keras.layers.ReLU()]
    return _trained(
        keras.Sequential([keras.Input((8,)), *layers, keras.layers.Dense(len(CLASSES))])
    )


def with_outlier(model, size=3000.0):
    """Return a copy whose first hidden unit is always large and counts for nothing: int8 ranges of it are far too wide.

    As few as 1 of its hidden values in `units` lie there, so ranges that end at percentiles leave them out.
    """
    made = keras.models.clone_model(model)
    made.set_weights(model.get_weights())
    (_, bias), (kernel, _) = made.get_layer("hidden").variables, made.get_layer("logits").variables
    bias.assign(np.concatenate([[size], bias[1:]]))
    kernel.assign(np.concatenate([np.zeros((1, len(CLASSES))), kernel[1:]]))
    return made


def with_coarse_steps(model, size=20.0):
    """Return a copy whose first hidden unit is always zero and has large weights: int4 has no steps for the others."""
    made = keras.models.clone_model(model)
    made.set_weights(model.get_weights())
    (_, bias), (kernel, _) = made.get_layer("hidden").variables, made.get_layer("logits").variables
    bias.assign(np.concatenate([[-100.0], bias[1:]]))
    kernel.assign(np.concatenate([np.full((1, len(CLASSES)), size), kernel[1:]]))
    return made
