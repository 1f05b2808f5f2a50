"""A small classifier, its data and every remedy, for the tests of remedies."""

import keras
import numpy as np

from tests.builders import small_nets

RNG = np.random.default_rng(0)
CLASSES = 4
X = RNG.normal(size=(96, 6)).astype(np.float32)
Y = (X[:, :CLASSES] + RNG.normal(size=(96, CLASSES))).argmax(axis=1)
HELD_OUT = (X[64:], Y[64:])


def net(seed=1, cls=keras.Model, policy=None, softmax=False):
    keras.utils.set_random_seed(seed)
    inputs = keras.Input((6,))
    hidden = keras.layers.Dense(8, activation="tanh", name="hidden", dtype=policy)(inputs)
    logits = keras.layers.Dense(
        CLASSES, name="logits", activation="softmax" if softmax else None, dtype=policy
    )(hidden)
    return cls(inputs, logits)


def compiled(model, softmax=False, **settings):
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=not softmax)
    return small_nets.compiled(model, **{"loss": loss, **settings})


def fit(model, *callbacks, x=X[:64], y=Y[:64], **settings):
    return small_nets.fit(model, *callbacks, x=x, y=y, **{"batch_size": 16, **settings})
