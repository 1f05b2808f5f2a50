"""A real ResNet-50 on real photographs: what quantization and one-shot pruning cost, and how fast flatbuffers are.

    python benchmarks/resnet50_photographs.py MODEL.keras FOLDER

FOLDER holds one 256x256 photograph per ImageNet class; their sorted names are the order of the classes. MODEL is
`keras.applications.ResNet50` with ImageNet weights. The middle 224x224 pixels go through its preprocessing. Pruning is
by magnitude, layer by layer, of the convolutions alone; int8 is calibrated on every tenth photograph.

Speed: peer is Keras' own `model.predict` with TensorFlow's default threads; LiteRT gets two threads. All models take
turns on each hundred of photographs, so that what else the machine does meets them alike.
"""

import sys
import time
from pathlib import Path

import keras
import numpy as np
from PIL import Image

import tfaudit


def photographs(folder: Path) -> np.ndarray:
    """The preprocessed middles of all photographs, float32 `(N, 224, 224, 3)`."""
    pixels = [np.asarray(Image.open(path).convert("RGB"))[16:240, 16:240] for path in sorted(folder.glob("*.jpg"))]
    return keras.applications.resnet50.preprocess_input(np.stack(pixels).astype("float32"))


def main(model_path: str, folder: str) -> None:
    """Prints one line per variant."""
    images = photographs(Path(folder))
    labels = np.arange(len(images))
    dense = keras.saving.load_model(model_path, compile=False)
    kinds = ("float32", "float16", "dynamic_range", "int8")
    flatbuffers = {kind: tfaudit.quantize(dense, kind, representative=images[::10]) for kind in kinds}
    ranked = {kind: [] for kind in kinds}
    seconds = dict.fromkeys((*kinds, "Keras predict"), 0.0)
    for start in range(0, len(images), 100):
        part = images[start : start + 100]
        begin = time.perf_counter()
        dense.predict(part, batch_size=25, verbose=0)
        seconds["Keras predict"] += time.perf_counter() - begin
        for kind in kinds:
            begin = time.perf_counter()
            ranked[kind].append(tfaudit.predict(flatbuffers[kind], part, batch_size=25, threads=2)[0])
            seconds[kind] += time.perf_counter() - begin
    answers = {kind: np.concatenate(parts) for kind, parts in ranked.items()}
    before = answers["Keras"] = tfaudit.predict(dense, images, batch_size=25)[0]
    convolutions = [layer for layer in dense.layers if isinstance(layer, keras.layers.Conv2D)]
    for sparsity in (0.3, 0.5, 0.7):
        pruned = keras.models.clone_model(dense)
        pruned.set_weights(dense.get_weights())
        tfaudit.prune(pruned, sparsity, layers=[layer.name for layer in convolutions])
        answers[f"pruned {sparsity}"] = tfaudit.predict(pruned, images, batch_size=25)[0]
    print(f"{'variant':14} {'top-1':>6} {'top-5':>6} {'flips':>6} {'lost':>5} {'won':>5} {'MB':>6} {'x Keras':>8}")
    for name in ("Keras", *(n for n in answers if n != "Keras")):
        top1, right = answers[name][:, 0], answers[name][:, 0] == labels
        top5 = (answers[name] == labels[:, None]).any(1).mean()
        was_right = before[:, 0] == labels
        flips, lost, won = (top1 != before[:, 0]).sum(), (was_right & ~right).sum(), (~was_right & right).sum()
        size = f"{len(flatbuffers[name]) / 1e6:6.1f}" if name in flatbuffers else f"{'':6}"
        speed = f"{seconds['Keras predict'] / seconds[name]:8.1f}" if name in seconds else ""
        print(f"{name:14} {right.mean():6.3f} {top5:6.3f} {flips:6d} {lost:5d} {won:5d} {size} {speed}")


if __name__ == "__main__":
    main(*sys.argv[1:])
