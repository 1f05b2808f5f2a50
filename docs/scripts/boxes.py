import json
from pathlib import Path

import numpy as np

import tfaudit

rng = np.random.default_rng(0)
images = [(number, rng.integers(0, 60, 2)) for number in range(200)]  # here the place of a box
truth = {
    "images": [{"id": number, "width": 100, "height": 100} for number, _ in images],
    "categories": [{"id": 1, "name": "cat"}],
    "annotations": [
        {"id": number + 1, "image_id": number, "category_id": 1, "bbox": [*place.tolist(), 30, 30]}
        for number, place in images
    ],
}
Path("truth.json").write_text(json.dumps(truth))


def before(place):
    yield *place, 30, 30, 0.9, 1  # x, y, width, height, score, category id


def after(place):
    if rng.random() < 0.8:
        yield *place, 30, 28, 0.8, 1


for name, model in {"a": before, "b": after}.items():
    Path(f"{name}.json").write_text(json.dumps(tfaudit.detections(model, images)))

boxes = tfaudit.read_truth("truth.json")
a, b = (tfaudit.read_detections(f"{name}.json", boxes) for name in "ab")
result = tfaudit.detect(boxes, [a], [b])
print(result.frame()[["kind", "name", "examples", "change_pp"]])
print(result.verdict(tfaudit.BoxLimits(box_recall_drop_pp=5)).outcome)
