"""A small network, its data and its training, for the tests of pruning."""

import keras
import numpy as np
import tensorflow as tf

from tests.builders.equality import assert_all_close
from tests.builders.pruning_reference import keep_count
from tfaudit.compress.pruning.kernels import find_kernels
from tfaudit.compress.pruning.pruning import Pruning
from tfaudit.compress.pruning.schedules import PolynomialDecay

STEPS = 12
EPS = 0.02
RNG = np.random.default_rng(0)
X = RNG.normal(size=(8 * STEPS, 6)).astype(np.float32)
Y = RNG.integers(0, 4, len(X))
POLYNOMIAL = PolynomialDecay(0.0, 0.8, begin_step=2, end_step=17, frequency=5)


class Counted(keras.Model):
    """Counts how often its training step is traced."""

    traces = 0

    def train_step(self, data):
        self.traces += 1
        return super().train_step(data)


class OwnStep(keras.Model):
    """A training step of the user's own."""

    def loss_of(self, x, y, weights):
        return self.compute_loss(x=x, y=y, y_pred=self(x, training=True), sample_weight=weights)

    def train_step(self, data):
        with tf.GradientTape() as tape:
            loss = self.loss_of(*keras.utils.unpack_x_y_sample_weight(data))
        variables = self.trainable_variables
        self.optimizer.apply(tape.gradient(loss, variables), variables)
        return {"loss": loss}


class WithoutInputs(OwnStep):
    """A training step that does not pass its inputs on to the loss."""

    def loss_of(self, x, y, weights):
        return self.compute_loss(y=y, y_pred=self(x, training=True))


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
    assert_all_close(one.get_weights(), other.get_weights(), atol=atol)


def decayed_model(**compiling):
    """Its loss holds eps/2 |w|^2 for every kernel: Keras' L2 of eps/2."""
    model = small_model(**compiling)
    for kernel in find_kernels(model).values():
        kernel.regularizer = keras.regularizers.L2(EPS / 2)
    return model


def gradual():
    """A callback that prunes by a schedule."""
    return Pruning(POLYNOMIAL)


def assert_zero_outside(model, masks):
    """Assert that exactly the weights outside the masks are zero."""
    for kernel, mask in zip(find_kernels(model).values(), masks.values(), strict=True):
        np.testing.assert_array_equal(kernel.numpy() != 0, mask)


def assert_equal_masks(one, other):
    assert one.keys() == other.keys()
    for name, mask in one.items():
        np.testing.assert_array_equal(mask, other[name])


def zeros(model):
    return {
        weight.path: int((weight.numpy() == 0).sum())
        for weight in model.weights
        if weight.name == "kernel"
    }


def zeros_at(sparsity):
    sizes = {"hidden/kernel": 96, "logits/kernel": 64}
    return {name: size - keep_count(size, sparsity) for name, size in sizes.items()}


DENSE = {"hidden/kernel": 0, "logits/kernel": 0}
"""The zeros of a model that was not pruned."""
