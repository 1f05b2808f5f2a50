import keras

import tfaudit

keras.utils.set_random_seed(0)
train = tfaudit.load_dataset("fashion_mnist", "train")
model = keras.Sequential(
    [
        keras.Input((28, 28, 1)),
        keras.layers.Rescaling(1 / 255),
        keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
        keras.layers.Conv2D(32, 3, strides=2, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(10),
    ]
)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile("adam", loss, metrics=["accuracy"])
model.fit(train.images, train.labels, batch_size=128, epochs=5)
model.save("float.keras")
tfaudit.prune(model, 0.5)
model.save("pruned.keras")
