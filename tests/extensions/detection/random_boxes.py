"""Random true boxes and detections as COCO's files, with crowds, empty images and ties of scores."""

import json

import numpy as np

from tfaudit.extensions.detection.coco_files import read_detections, read_truth

SIZE = 200


def random_truth(rng, images=12, classes=3):
    """A truth of a few images, some of them empty, with crowds; ids are neither dense nor sorted."""
    ids = (rng.permutation(images) * 7 + 3).tolist()
    annotations = []
    for image in ids:
        for _ in range(rng.integers(0, 7)):
            x, y = rng.integers(0, 120, 2).tolist()
            width, height = rng.integers(8, 80, 2).tolist()
            crowd = int(rng.random() < 0.15)
            annotations.append(
                {
                    "id": 5 * len(annotations) + 1,
                    "image_id": image,
                    "category_id": int(rng.integers(classes)) * 2 + 1,
                    "bbox": [x, y, width, height],
                    "area": width * height,
                    "iscrowd": crowd,
                }
            )
    return {
        "images": [
            {"id": image, "width": SIZE, "height": SIZE, "night": image % 2} for image in ids
        ],
        "categories": [{"id": 2 * c + 1, "name": f"class {c}"} for c in range(classes)],
        "annotations": annotations,
    }


def random_detections(rng, truth, miss=0.2, noise=6.0):
    """Detections near most of the true boxes, and false ones; scores have one decimal, so that many tie."""
    found = []
    for box in truth["annotations"]:
        for _ in range(rng.integers(1, 3) if rng.random() > miss else 0):
            moved = np.clip(np.array(box["bbox"]) + rng.normal(0, noise, 4), 1, SIZE)
            found.append((box["image_id"], box["category_id"], moved))
    for image in truth["images"]:
        for _ in range(rng.integers(0, 4)):
            category = int(rng.choice([one["id"] for one in truth["categories"]]))
            found.append((image["id"], category, rng.uniform(1, 100, 4)))
    rng.shuffle(found)
    return [
        {
            "image_id": image,
            "category_id": category,
            "bbox": [*box[:2], *np.minimum(box[2:], SIZE - box[:2])],
            "score": round(float(rng.random()), 1),
        }
        for image, category, box in found
    ]


def written(folder, **contents):
    """Write contents as JSON files; return their paths."""
    paths = []
    for name, content in contents.items():
        paths.append(folder / f"{name}.json")
        paths[-1].write_text(json.dumps(content))
    return paths


def random_pair(folder, seed=0, images=60, **harm):
    """A truth, and the detections of a model and of a compressed one, which misses more or is less exact."""
    rng = np.random.default_rng(seed)
    content = random_truth(rng, images)
    before = random_detections(rng, content, 0.05, 2)
    after = random_detections(rng, content, **{"miss": 0.05, "noise": 2, **harm})
    truth, *files = written(folder, truth=content, a=before, b=after)
    truth = read_truth(truth)
    return truth, *(read_detections(file, truth) for file in files)
