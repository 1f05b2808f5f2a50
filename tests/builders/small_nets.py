"""A small network, its data and its training, for the tests of pruning."""

import keras
import numpy as np

from tests.builders.pruning_reference import keep_count

STEPS = 12
RNG = np.random.default_rng(0)
X = RNG.normal(size=(8 * STEPS, 6)).astype(np.float32)
Y = RNG.integers(0, 4, len(X))
POLYNOMIAL = {"initial": 0.0, "final": 0.8, "begin": 2, "end": 17, "frequency": 5}


class Counted(keras.Model):
    """Counts how often its training step is traced."""

    traces = 0

    def train_step(self, data):
        self.traces += 1
        return super().train_step(data)


def small_model(cls=keras.Model, optimizer=None, policy=None, **compiling):
    keras.utils.set_random_seed(1)
    inputs = keras.Input((6,))
    x = keras.layers.Dense(16, activation="tanh", name="hidden", dtype=policy)(inputs)
    model = cls(inputs, keras.layers.Dense(4, name="logits", dtype=policy)(x))
    return compiled(model, optimizer, **compiling)


def compiled(model, optimizer=None, loss=None, **compiling):
    optimizer = optimizer or keras.optimizers.SGD(0.1, momentum=0.9)
    loss = loss or keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss, **{"jit_compile": False, **compiling})
    return model


def fit(model, *callbacks, x=X, y=Y, **settings):
    settings = {"epochs": 2, "batch_size": 8, "shuffle": False, "verbose": 0, **settings}
    return model.fit(x, y, callbacks=list(callbacks), **settings)


def assert_same_weights(one, other, atol=0.0):
    for got, want in zip(one.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=atol)


def zeros(model):
    return {
        weight.path: int((weight.numpy() == 0).sum())
        for weight in model.weights
        if weight.name == "kernel"
    }


def zeros_at(sparsity):
    return {
        "hidden/kernel": 96 - keep_count(96, sparsity),
        "logits/kernel": 64 - keep_count(64, sparsity),
    }
