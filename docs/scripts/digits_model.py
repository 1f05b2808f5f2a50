import keras
import numpy as np

import tfaudit

keras.utils.set_random_seed(0)
train, test = tfaudit.load_dataset("digits", "train"), tfaudit.load_dataset("digits", "test")
np.savez("train.npz", x=train.images.astype("float32"), y=train.labels)
np.savez("test.npz", x=test.images.astype("float32"), y=test.labels)
np.save("labels.npy", test.labels)
model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        keras.layers.Rescaling(1 / 255),
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(10),
    ]
)
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(train.images, train.labels, epochs=20)
model.save("float.keras")
