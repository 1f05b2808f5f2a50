"""What does a small detector forget? Scenes of Fashion-MNIST's pieces, K = 3: float16, int8, pruned 50 and 80 %.

    python -m benchmarks.detection FOLDER OUT [--scenes 8000] [--epochs 8] [--members 3]

FOLDER holds Fashion-MNIST's IDX files. OUT gets truth.json, the scenes of the test images as images/*.png, the
detections NAME-K.json of every member of dense, float16, int8, int8-float-heads, pruned-50 and pruned-80 for
`tfaudit detect`, and boxes.png, scenes with the boxes that pruning loses.

A scene is 96 x 96 pixels of noise with 2 to 8 pieces of six classes of unequal frequency, 14 to 46 pixels high, some of
which overlap. The detector is free of anchors: a heat map of centres for each class, and the distances of the sides of
the box from each cell of four pixels (Zhou, Wang, Krähenbühl. Objects as Points. arXiv:1904.07850; Tian et al. FCOS.
ICCV 2019).

It is no recipe: a study holds one prediction per example, a class, and trains with `model.fit` on pairs of images and
labels. A detector has any number of boxes per image, a heat map to train on, and float heads, which no variant of a
study names; `tfaudit run` would need another kind of prediction from training to store.
"""

import argparse
import json
import os
from pathlib import Path

os.environ["TF_NUM_INTRAOP_THREADS"] = os.environ["TF_NUM_INTEROP_THREADS"] = "1"

import keras
import numpy as np
from PIL import Image, ImageDraw

import tfaudit
from tfaudit.datasets.idx import find_idx, read_idx
from tfaudit.extensions.detection.coco_files import detections, read_detections, read_truth
from tfaudit.extensions.detection.detection import detect

SIDE, CELL = 96, 4
CLASSES = {
    "T-shirt": (0, 0.32),
    "trouser": (1, 0.23),
    "bag": (8, 0.19),
    "sandal": (5, 0.12),
    "ankle boot": (9, 0.08),
    "dress": (3, 0.06),
}
"""Numbers in Fashion-MNIST and frequencies."""

TINY = 18
"""Pixels of the longer side of a box below which it is tiny."""

Scene = tuple[np.ndarray, np.ndarray, np.ndarray]
"""`(96, 96, 1)` float32 pixels, `(B, 4)` boxes as x1, y1, x2, y2, and `(B,)` classes."""


def scenes(folder: Path, split: str, count: int, seed: int) -> list[Scene]:
    """Return scenes of pieces of a split."""
    stems = {"images": 3, "labels": 1}
    pieces, labels = (
        read_idx(find_idx(folder, f"{split}-{stem}", ndim), ndim) for stem, ndim in stems.items()
    )
    by_class = [pieces[labels == number] for number, _ in CLASSES.values()]
    rng = np.random.default_rng(seed)
    shares = np.array([share for _, share in CLASSES.values()])
    return [_scene(rng, by_class, shares) for _ in range(count)]


def _scene(rng: np.random.Generator, by_class: list[np.ndarray], shares: np.ndarray) -> Scene:
    canvas = rng.normal(rng.uniform(10, 50), 12, (SIDE, SIDE)).clip(0, 255)
    boxes: list[np.ndarray] = []
    classes: list[int] = []
    for _ in range(rng.integers(2, 9)):
        label = int(rng.choice(len(shares), p=shares))
        side = int(np.exp(rng.uniform(np.log(14), np.log(47))))
        piece = by_class[label][rng.integers(len(by_class[label]))]
        shrunk = np.asarray(Image.fromarray(piece).resize((side, side), Image.Resampling.BILINEAR))
        rows, columns = (np.flatnonzero((shrunk > 40).any(axis)) for axis in (1, 0))
        if len(rows) < 4 or len(columns) < 4:
            continue
        part = shrunk[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].astype(float)
        height, width = part.shape
        x, y = rng.integers(0, SIDE - width + 1), rng.integers(0, SIDE - height + 1)
        box = np.array([x, y, x + width, y + height])
        if boxes and overlaps(box[None], np.stack(boxes)).max() > 0.25:
            continue
        under = canvas[y : y + height, x : x + width]
        canvas[y : y + height, x : x + width] = np.where(part > 40, part, under)
        boxes.append(box)
        classes.append(label)
    return canvas[..., None].astype(np.float32), np.stack(boxes), np.array(classes)


def overlaps(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the intersection over union of `(A, 4)` and `(B, 4)` boxes, `(A, B)`."""
    start = np.maximum(one[:, None, :2], other[None, :, :2])
    ends = np.minimum(one[:, None, 2:], other[None, :, 2:])
    both = np.maximum(ends - start, 0).prod(-1)
    areas = [(boxes[:, 2:] - boxes[:, :2]).prod(-1) for boxes in (one, other)]
    return both / (areas[0][:, None] + areas[1] - both)


def targets(made: list[Scene]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return images, and what the heat map and the boxes should be: heat, and distances with their weights."""
    cells = SIDE // CELL
    centres = (np.arange(cells) + 0.5) * CELL
    heat = np.zeros((len(made), cells, cells, len(CLASSES)), np.float32)
    sides = np.zeros((len(made), cells, cells, 5), np.float32)
    for scene, (_, boxes, classes) in enumerate(made):
        for (x1, y1, x2, y2), label in zip(boxes, classes, strict=True):
            spread = [max(high - low, 2 * CELL) / 7 for low, high in ((x1, x2), (y1, y2))]
            middle = [
                (int((low + high) / 2 / CELL) + 0.5) * CELL for low, high in ((x1, x2), (y1, y2))
            ]
            across, down = (
                np.exp(-(((centres - place) / width) ** 2) / 2)
                for place, width in zip(middle, spread, strict=True)
            )
            shape = down[:, None] * across
            heat[scene, ..., label] = np.maximum(heat[scene, ..., label], shape)
            distances = np.broadcast_arrays(
                centres - x1, (centres - y1)[:, None], x2 - centres, (y2 - centres)[:, None]
            )
            stronger = (shape > 0.5) & (shape > sides[scene, ..., 4])
            sides[scene, stronger, :4] = np.maximum(np.stack(distances, -1), 1)[stronger]
            sides[scene, stronger, 4] = shape[stronger]
    return np.stack([scene[0] for scene in made]), {"heat": heat, "sides": sides}


def build(seed: int) -> keras.Model:
    """Return a detector with random weights."""
    keras.utils.set_random_seed(seed)
    layers = keras.layers
    image = keras.Input((SIDE, SIDE, 1), name="image")

    def block(
        x: keras.KerasTensor, name: str, width: int, side: int = 3, stride: int = 1
    ) -> keras.KerasTensor:
        x = layers.Conv2D(width, side, stride, "same", use_bias=False, name=f"conv_{name}")(x)
        x = layers.BatchNormalization(momentum=0.9, name=f"norm_{name}")(x)
        return layers.ReLU(name=f"relu_{name}")(x)

    x = layers.Rescaling(1 / 128, -1)(image)
    fine = block(block(x, "half", 16, stride=2), "quarter", 32, stride=2)
    coarse = block(fine, "eighth", 48, stride=2)
    coarse = block(block(coarse, "around", 48), "further", 48)
    raised = layers.UpSampling2D(2)(block(coarse, "narrow", 32, side=1))
    x = block(layers.Add()([fine, raised]), "both", 32)
    rare = keras.initializers.Constant(-4)
    heat = layers.Conv2D(len(CLASSES), 1, bias_initializer=rare, name="heat")(x)
    near = keras.initializers.Constant(2)
    return keras.Model(
        image, {"heat": heat, "sides": layers.Conv2D(4, 1, bias_initializer=near, name="sides")(x)}
    )


def heat_loss(true: keras.KerasTensor, logits: keras.KerasTensor) -> keras.KerasTensor:
    """Focal loss of the heat map, per scene."""
    ops = keras.ops
    share = ops.clip(ops.sigmoid(logits), 1e-4, 1 - 1e-4)
    centre = ops.cast(true > 0.999, share.dtype)
    found = centre * (1 - share) ** 2 * ops.log(share)
    wrong = (1 - centre) * (1 - true) ** 4 * share**2 * ops.log(1 - share)
    return -ops.sum(found + wrong, (1, 2, 3)) / 5


def sides_loss(true: keras.KerasTensor, logarithms: keras.KerasTensor) -> keras.KerasTensor:
    """One minus the intersection over union of boxes, weighted by how near a cell is to the centre."""
    ops = keras.ops
    wanted, weight = true[..., :4], true[..., 4]
    sides = ops.exp(ops.clip(logarithms, -3, 5))
    both = ops.minimum(wanted, sides)

    def area(one: keras.KerasTensor) -> keras.KerasTensor:
        return (one[..., 0] + one[..., 2]) * (one[..., 1] + one[..., 3])

    shared = area(both)
    union = area(wanted) + area(sides) - shared
    return ops.sum(weight * (1 - shared / (union + 1e-3)), (1, 2)) / 5


def fit(model: keras.Model, data: tuple, epochs: int, rate: float, callbacks: tuple = ()) -> None:
    """Train a model in place."""
    images, wanted = data
    steps = epochs * -(-len(images) // 16)
    schedule = keras.optimizers.schedules.CosineDecay(
        rate, steps, warmup_target=rate, warmup_steps=50
    )
    losses = {"heat": heat_loss, "sides": sides_loss}
    model.compile(keras.optimizers.Adam(schedule), losses)
    model.fit(images, wanted, 16, epochs, verbose=2, callbacks=list(callbacks))


def decoded(heat: np.ndarray, sides: np.ndarray) -> list[tuple[float, ...]]:
    """Return x, y, width, height, score and class id of the peaks of a heat map, the best of overlapping ones alone."""
    share = 1 / (1 + np.exp(-np.clip(heat, -30, 30)))
    padded = np.pad(share, ((1, 1), (1, 1), (0, 0)))
    cells = len(share)
    around = [padded[y : y + cells, x : x + cells] for y in range(3) for x in range(3)]
    rows, columns, labels = np.nonzero((share >= np.max(around, axis=0)) & (share > 0.03))
    score = share[rows, columns, labels]
    reach = np.exp(np.clip(sides[rows, columns], -3, 5))
    middle = (np.stack([columns, rows], 1) + 0.5) * CELL
    boxes = np.hstack([middle - reach[:, :2], middle + reach[:, 2:]]).clip(0, SIDE)
    kept: list[int] = []
    for place in np.argsort(-score, kind="stable"):
        alike = [other for other in kept if labels[other] == labels[place]]
        if not alike or overlaps(boxes[[place]], boxes[alike]).max() < 0.5:
            kept.append(place)
    return [
        (*boxes[i, :2], *(boxes[i, 2:] - boxes[i, :2]), score[i], labels[i] + 1) for i in kept[:50]
    ]


def of_keras(model: keras.Model, images: np.ndarray) -> list[dict]:
    """Return the detections of a Keras model."""
    found = {name: np.asarray(values) for name, values in model.predict(images, verbose=0).items()}
    pairs = zip(found["heat"], found["sides"], strict=True)
    return detections(lambda pair: decoded(*pair), enumerate(pairs, start=1))


def of_file(content: bytes, images: np.ndarray) -> list[dict]:
    """Return the detections of a `.tflite` file."""
    from ai_edge_litert.interpreter import Interpreter

    runner = Interpreter(model_content=content, num_threads=1).get_signature_runner()
    (name,) = runner.get_input_details()

    def boxes(image: np.ndarray) -> list[tuple[float, ...]]:
        found = runner(**{name: image[None]})
        return decoded(found["heat"][0], found["sides"][0])

    return detections(boxes, enumerate(images, start=1))


def write_truth(made: list[Scene], out: Path) -> None:
    """Write the true boxes and the images of scenes."""
    (out / "images").mkdir(parents=True, exist_ok=True)
    annotations = []
    for number, (pixels, boxes, classes) in enumerate(made, start=1):
        Image.fromarray(pixels[..., 0].astype(np.uint8)).save(out / "images" / f"{number}.png")
        near = overlaps(boxes, boxes) - np.eye(len(boxes))
        for box, label, beside in zip(boxes.tolist(), classes.tolist(), near.max(1), strict=True):
            x1, y1, x2, y2 = box
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": number,
                    "category_id": label + 1,
                    "bbox": [x1, y1, x2 - x1, y2 - y1],
                    "overlaps": "yes" if beside > 0.02 else "no",
                    "longer_side": f"below {TINY}"
                    if max(x2 - x1, y2 - y1) < TINY
                    else f"{TINY} or more",
                    "pieces": "6 or more" if len(boxes) > 5 else "5 or fewer",
                }
            )
    images = [
        {"id": place, "width": SIDE, "height": SIDE, "file_name": f"{place}.png"}
        for place in range(1, len(made) + 1)
    ]
    categories = [{"id": place, "name": name} for place, name in enumerate(CLASSES, start=1)]
    content = {"images": images, "categories": categories, "annotations": annotations}
    (out / "truth.json").write_text(json.dumps(content))


def draw(out: Path, before: str, after: str, count: int = 8) -> None:
    """Draw the scenes that lose most: true boxes found by most members before are white, those lost after are red."""
    truth = read_truth(out / "truth.json")
    sides = [
        [read_detections(file, truth) for file in sorted(out.glob(f"{name}-?.json"))]
        for name in (before, after)
    ]
    found = detect(truth, *sides, paired=True).found
    lost = (found[0] > 0.5) & (found[1] <= 0.5)
    order = np.argsort(-np.bincount(truth.boxes["image"], lost), kind="stable")[:count]
    sheet = Image.new("RGB", (4 * 200, -(-count // 4) * 200), "white")
    for place, number in enumerate(order):
        picture = Image.open(out / "images" / f"{number + 1}.png").convert("RGB").resize((192, 192))
        pen = ImageDraw.Draw(picture)
        of_scene = truth.boxes[truth.boxes["image"] == number]
        for row in of_scene.itertuples():
            colour = (
                "#ff3030" if lost[row.Index] else "white" if found[0, row.Index] > 0.5 else "#777"
            )
            ends = row.x + row.width, row.y + row.height
            pen.rectangle([2 * value for value in (row.x, row.y, *ends)], outline=colour, width=2)
        sheet.paste(picture, (place % 4 * 200 + 4, place // 4 * 200 + 4))
    sheet.save(out / "boxes.png")


def main() -> None:
    """Train, compress, detect, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--scenes", type=int, default=8000)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--members", type=int, default=3)
    options = parser.parse_args()
    data = targets(scenes(options.folder, "train", options.scenes, 0))
    test = scenes(options.folder, "t10k", 1500, 1)
    write_truth(test, options.out)
    images = np.stack([scene[0] for scene in test])

    def save(name: str, member: int, found: list[dict]) -> None:
        (options.out / f"{name}-{member}.json").write_text(json.dumps(found))
        print(name, member, len(found), flush=True)

    for member in range(options.members):
        dense = build(member)
        fit(dense, data, options.epochs, 4e-3)
        save("dense", member, of_keras(dense, images))
        some = data[0][:500]
        kinds = {
            "float16": ("float16", ()),
            "int8": ("int8", ()),
            "int8-float-heads": ("int8", ("heat", "sides")),
        }
        for name, (kind, heads) in kinds.items():
            file = tfaudit.quantize(dense, kind, representative=some, float_layers=heads)
            save(name, member, of_file(file, images))
        for percent in (50, 80):
            pruned = build(member)
            pruned.set_weights(dense.get_weights())
            fit(pruned, data, max(options.epochs // 4, 1), 1e-3, (tfaudit.Pruning(percent / 100),))
            save(f"pruned-{percent}", member, of_keras(pruned, images))
    draw(options.out, "dense", "pruned-80")


if __name__ == "__main__":
    main()
