import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np
from hgq.config import LayerConfigScope, QuantizerConfigScope
from hgq.layers import QConv2D, QDense

train, test = np.load("train.npz"), np.load("test.npz")
keras.utils.set_random_seed(0)


def scores(convolution, dense):
    layers = [convolution(16, 3, activation="relu"), keras.layers.Flatten(), dense(10)]
    model = keras.Sequential([keras.Input((8, 8, 1)), *layers])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(3e-3), loss)
    model.fit(train["x"] / 255, train["y"], epochs=20)
    return model.predict(test["x"] / 255)


np.save("hgq_float.npy", scores(keras.layers.Conv2D, keras.layers.Dense))
with QuantizerConfigScope(), LayerConfigScope(enable_ebops=True, beta0=1e-6):
    np.save("hgq.npy", scores(QConv2D, QDense))
