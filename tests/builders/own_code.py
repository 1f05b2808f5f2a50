"""Code of a user's own in a file outside of the project: data, models and trainings that the project does not know."""

from pathlib import Path

OWN = '''
import keras
import numpy as np

import tfaudit


def load(split):
    draw = np.random.default_rng(0 if split == "train" else 1)
    x = draw.normal(size=(120 if split == "train" else 60, 5)).astype("float32")
    y = (x[:, 0] + x[:, 1] > 0).astype(int) + (x[:, 2] > 1)
    side = np.where(x[:, 3] > 0, "left", "right")
    preview = lambda x: {f"f{i}": value for i, value in enumerate(x)}
    return tfaudit.Examples(x, y, {"side": side}, class_names=["low", "middle", "high"], preview=preview)


def words(split):
    return np.array(["good day", "bad day"] * 20), np.array([1, 0] * 20)


def build(input_shape, num_classes):
    layers = [keras.layers.Dense(8, "relu"), Scaled(), keras.layers.Dense(num_classes)]
    return keras.Sequential([keras.Input(input_shape), *layers])


class Scaled(keras.layers.Layer):
    """A layer that Keras cannot find by its name."""

    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones")

    def call(self, x):
        return x * self.scale


def compiled(input_shape):
    model = keras.Sequential([keras.Input(input_shape), keras.layers.Dense(3, "softmax")])
    model.compile(keras.optimizers.Lion(0.01), "categorical_crossentropy", metrics=["accuracy"])
    return model


def fit(model, train, *, seed, callbacks):
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.02), loss, metrics=["accuracy"])
    return model.fit(train.x, train.y, epochs=4, batch_size=20, verbose=0, callbacks=callbacks)


def deaf(model, train, *, seed, callbacks):
    return fit(model, train, seed=seed, callbacks=[])
'''


def write_own(folder: Path, *, name: str = "own.py", more: str = "") -> Path:
    """Write the file, and more code at its end, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(OWN + more)
    return folder / name
