from pathlib import Path

import keras
import numpy as np
from PIL import Image

import tfaudit


def drawings(seed, count):
    """Return noisy drawings of circles, crosses and squares, and their classes."""
    random = np.random.default_rng(seed)
    labels = np.arange(count) % 3
    rows = np.arange(24)[:, None] - random.integers(8, 16, (count, 1, 1))
    columns = np.arange(24) - random.integers(8, 16, (count, 1, 1))
    size = random.integers(4, 8, (count, 1, 1))
    circles = rows**2 + columns**2 < size**2
    crosses = np.minimum(abs(rows), abs(columns)) < size / 3
    squares = np.maximum(abs(rows), abs(columns)) < size
    ink = np.choose(labels[:, None, None], [circles, crosses, squares])
    pixels = random.normal(100 + 60 * ink, 20).clip(0, 255)
    return pixels.astype("uint8")[..., None], labels


keras.utils.set_random_seed(0)
model = keras.Sequential(
    [
        keras.Input((24, 24, 1)),
        keras.layers.Rescaling(1 / 255),
        keras.layers.Conv2D(16, 5, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(32, 3, activation="relu"),
        keras.layers.GlobalMaxPooling2D(),
        keras.layers.Dense(3, activation="softmax"),
    ]
)
model.compile(keras.optimizers.Adam(0.003), "sparse_categorical_crossentropy")
model.fit(*drawings(0, 3000), epochs=6, verbose=0)
model.save("float.keras")
tfaudit.prune(model, 0.3)
model.save("pruned.keras")
for number, (image, label) in enumerate(zip(*drawings(1, 1500), strict=True)):
    folder = Path("images", ("circle", "cross", "square")[label])
    folder.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image[..., 0]).save(folder / f"{number:04}.png")
