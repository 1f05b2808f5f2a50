"""Small networks of today's architectures through pruning, quantization-aware training and every kind of file.

    python -m benchmarks.architectures [NAME ...]

Each network is trained on the digits that come with tfaudit and tested on 600 others. A row has its accuracies in %:
the trained Keras model, its file of every kind, the int8 file after two epochs of quantization-aware training (QAT),
and the Keras model after two epochs that prune half of its weights. "nan" is a kind that `quantize` refuses.
"""

import sys
from collections.abc import Callable

import keras
import numpy as np

import tfaudit
from tfaudit.compress.litert.learned_ranges import is_quantization_aware
from tfaudit.study.quantization import KINDS

layers = keras.layers
CLASSES = 10
EPOCHS = 12
ATTENTION = "attention"


def enlarged(images: np.ndarray) -> np.ndarray:
    """Return images of 32 x 32 pixels in three colours."""
    return images.repeat(4, axis=1).repeat(4, axis=2).repeat(3, axis=3)


def rows(images: np.ndarray) -> np.ndarray:
    """Return every image as a sequence of its rows."""
    return images[..., 0].astype(np.float32) / 255


def tokens(images: np.ndarray) -> np.ndarray:
    """Return every image as a sequence of 64 tokens, its grey levels."""
    return (images.reshape(len(images), -1) // 16).astype(np.int32)


def mobilenet_v3() -> keras.Model:
    """Build MobileNetV3Small with half of its channels."""
    return keras.applications.MobileNetV3Small(
        (32, 32, 3), alpha=0.5, weights=None, classes=CLASSES, name="mobilenet"
    )


def convnext() -> keras.Model:
    """Build a ConvNeXt of four stages with one block each."""
    from keras.src.applications.convnext import ConvNeXt

    sides = {"depths": (1, 1, 1, 1), "projection_dims": (16, 32, 48, 64)}
    shape = (32, 32, 3)
    return ConvNeXt(**sides, weights=None, input_shape=shape, classes=CLASSES, name="convnext")


def encoder(x: keras.KerasTensor, name: str) -> keras.KerasTensor:
    """Add a block of a transformer: attention and a perceptron, each after a LayerNormalization."""
    y = layers.LayerNormalization(name=f"{name}_norm")(x)
    x = x + layers.MultiHeadAttention(4, 8, name=f"{name}_{ATTENTION}")(y, y)
    y = layers.LayerNormalization(name=f"{name}_second_norm")(x)
    y = layers.Dense(64, activation="gelu", name=f"{name}_inner")(y)
    return x + layers.Dense(32, name=f"{name}_outer")(y)


class Positions(layers.Layer):
    """A learned vector added at every position."""

    def build(self, input_shape: tuple[int, ...]) -> None:
        """Create the vectors."""
        self.table = self.add_weight(input_shape[1:], "random_normal", name="table")

    def call(self, x: keras.KerasTensor) -> keras.KerasTensor:
        """Add them."""
        return x + self.table


def classified(inputs: keras.KerasTensor, x: keras.KerasTensor, name: str) -> keras.Model:
    """Return the model whose scores are made of the mean over positions."""
    x = layers.GlobalAveragePooling1D()(encoder(encoder(x, "first"), "second"))
    return keras.Model(inputs, layers.Dense(CLASSES, name="scores")(x), name=name)


def vit() -> keras.Model:
    """Build a vision transformer of two blocks on patches of 4 x 4 pixels."""
    inputs = keras.Input((32, 32, 3))
    x = layers.Rescaling(1 / 255)(inputs)
    x = layers.Reshape((64, 32))(layers.Conv2D(32, 4, 4, name="patches")(x))
    return classified(inputs, Positions(name="positions")(x), "vit")


def bert() -> keras.Model:
    """Build a text encoder of two blocks."""
    inputs = keras.Input((64,), dtype="int32")
    x = layers.Embedding(16, 32, name="table")(inputs)
    return classified(inputs, Positions(name="positions")(x), "bert")


def lstm() -> keras.Model:
    """Build a recurrent network of one unrolled LSTM."""
    inputs = keras.Input((8, 8))
    x = layers.LSTM(64, unroll=True, name="lstm")(inputs)
    return keras.Model(inputs, layers.Dense(CLASSES, name="scores")(x), name="lstm_net")


NETS: dict[str, tuple[Callable[[], keras.Model], Callable[[np.ndarray], np.ndarray], tuple]] = {
    "MobileNetV3": (mobilenet_v3, enlarged, ()),
    "ConvNeXt": (convnext, enlarged, ()),
    "ViT": (vit, enlarged, ("first_attention", "second_attention", "positions")),
    "BERT": (bert, tokens, ("first_attention", "second_attention", "positions", "table")),
    "LSTM": (lstm, rows, ("lstm",)),
}
"""Network, form of the digits that it takes, and layers that stay in float in its int8 files."""


def accuracies(name: str) -> dict[str, float]:
    """Train a network and return its accuracies, %, by what was done with it; NaN for a kind that is refused."""
    build, form, kept = NETS[name]
    train, test = (tfaudit.load_dataset("digits", split) for split in ("train", "test"))
    x, held_out = form(train.images), form(test.images)

    def accuracy(model: keras.Model | bytes) -> float:
        return 100 * float((tfaudit.predict(model, held_out)[0][:, 0] == test.labels).mean())

    def fitted(model: keras.Model, epochs: int, rate: float, *callbacks: object) -> keras.Model:
        is_softmax = model.layers[-1].get_config().get("activation") == "softmax"
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=not is_softmax)
        model.compile(keras.optimizers.Adam(rate), loss)
        model.fit(x, train.labels, epochs=epochs, verbose=0, callbacks=list(callbacks))
        if not is_quantization_aware(model):
            tfaudit.recalibrate_batch_norm(model, x)  # MobileNetV3's momentum expects long training
        return model

    keras.utils.set_random_seed(0)
    model = fitted(build(), EPOCHS, 3e-3)
    figures = {"Keras": accuracy(model)}
    for kind in KINDS:
        options = {"float_layers": kept} if kind == "int8" else {}
        try:
            content = tfaudit.quantize(model, kind, representative=x, **options)
            figures[kind] = accuracy(content)
        except tfaudit.InputError:
            figures[kind] = float("nan")
    aware = fitted(tfaudit.quantization_aware(model, float_layers=kept), 2, 3e-4)
    figures["QAT"] = accuracy(tfaudit.quantize(aware, "int8"))
    figures["pruned"] = accuracy(fitted(model, 2, 1e-3, tfaudit.Pruning(0.5)))
    return figures


def main() -> None:
    """Print a row per network."""
    for name in sys.argv[1:] or NETS:
        print(name, *(f"{key} {value:.1f}" for key, value in accuracies(name).items()), sep=", ")


if __name__ == "__main__":
    main()
