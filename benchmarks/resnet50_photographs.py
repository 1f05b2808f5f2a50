"""A real ResNet-50 on real photographs: accuracy after quantization and one-shot pruning, and speed of flatbuffers.

    python benchmarks/resnet50_photographs.py MODEL.keras FOLDER

FOLDER holds one 256x256 photograph per ImageNet class; the order of their names is that of the classes. MODEL is
`keras.applications.ResNet50` with ImageNet weights; its preprocessing is applied to the central 224x224 pixels. Pruning
is by magnitude, layer by layer, of the convolutions only; int8 is calibrated on every tenth photograph.

Speed is compared with Keras' `model.predict` with TensorFlow's default threads; LiteRT has two threads. All models take
turns on every hundred photographs, so other load affects them alike.
"""

import sys
import time
from pathlib import Path

import keras
import numpy as np
from PIL import Image

import tfaudit


def photographs(folder: Path) -> np.ndarray:
    """Return the preprocessed centres of all photographs, float32 `(N, 224, 224, 3)`."""
    pixels = [
        np.asarray(Image.open(path).convert("RGB"))[16:240, 16:240]
        for path in sorted(folder.glob("*.jpg"))
    ]
    return keras.applications.resnet50.preprocess_input(np.stack(pixels).astype("float32"))


def main(model_path: str, folder: str) -> None:
    """Print one line per variant."""
    images = photographs(Path(folder))
    labels = np.arange(len(images))
    dense = keras.saving.load_model(model_path, compile=False)
    kinds = ("float32", "float16", "dynamic_range", "int8")
    flatbuffers = {
        kind: tfaudit.quantize(dense, kind, representative=images[::10]) for kind in kinds
    }
    parts = {kind: [] for kind in kinds}
    seconds = dict.fromkeys((*kinds, "Keras predict"), 0.0)
    for start in range(0, len(images), 100):
        batch = images[start : start + 100]
        begin = time.perf_counter()
        dense.predict(batch, batch_size=25, verbose=0)
        seconds["Keras predict"] += time.perf_counter() - begin
        for kind in kinds:
            begin = time.perf_counter()
            parts[kind].append(
                tfaudit.predict(flatbuffers[kind], batch, batch_size=25, threads=2).classes
            )
            seconds[kind] += time.perf_counter() - begin
    ranked = {kind: np.concatenate(parts[kind]) for kind in kinds}
    before = ranked["Keras"] = tfaudit.predict(dense, images, batch_size=25).classes
    convolutions = [layer for layer in dense.layers if isinstance(layer, keras.layers.Conv2D)]
    for sparsity in (0.3, 0.5, 0.7):
        pruned = keras.models.clone_model(dense)
        pruned.set_weights(dense.get_weights())
        tfaudit.prune(pruned, sparsity, layers=[layer.name for layer in convolutions])
        ranked[f"pruned {sparsity}"] = tfaudit.predict(pruned, images, batch_size=25).classes
    print(
        f"{'variant':14} {'top-1':>6} {'top-5':>6} {'flips':>6} {'lost':>5} {'won':>5} {'MB':>6} {'x Keras':>8}"
    )
    for name in ("Keras", *(n for n in ranked if n != "Keras")):
        top1, right = ranked[name][:, 0], ranked[name][:, 0] == labels
        top5 = (ranked[name] == labels[:, None]).any(1).mean()
        was_right = before[:, 0] == labels
        flips, lost, won = (
            (top1 != before[:, 0]).sum(),
            (was_right & ~right).sum(),
            (~was_right & right).sum(),
        )
        size = f"{len(flatbuffers[name]) / 1e6:6.1f}" if name in flatbuffers else f"{'':6}"
        speed = f"{seconds['Keras predict'] / seconds[name]:8.1f}" if name in seconds else ""
        print(
            f"{name:14} {right.mean():6.3f} {top5:6.3f} {flips:6d} {lost:5d} {won:5d} {size} {speed}"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
