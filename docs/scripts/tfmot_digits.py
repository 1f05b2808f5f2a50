import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"
from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_model_optimization as tfmot
import tf_keras

data, layers = np.load("train.npz"), tf_keras.layers
loss = tf_keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model = tf_keras.Sequential(
    [
        layers.Input((8, 8, 1)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.Flatten(),
        layers.Dense(10),
    ]
)


def trained(model, epochs):
    model.compile("adam", loss)
    model.fit(data["x"], data["y"], epochs=epochs)
    return tf.lite.TFLiteConverter.from_keras_model(model)


Path("tfmot_float.tflite").write_bytes(trained(model, 20).convert())
converter = trained(tfmot.quantization.keras.quantize_model(model), 3)
converter.optimizations = [tf.lite.Optimize.DEFAULT]
Path("tfmot_int8.tflite").write_bytes(converter.convert())
