"""True and detected boxes in COCO's formats, read and checked."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.errors import InputError, path_of
from tfaudit.runtime.regular_files import read_regular

BEYOND = 1.0
"""Pixels by which rounding may move a box beyond its image."""

SIDES = ["x", "y", "width", "height"]


@dataclasses.dataclass(frozen=True, eq=False)
class Truth:
    """The true boxes of images.

    Attributes:
        images: one row per image, by id: `id`, `width`, `height`, `file_name`.
        categories: one row per class, by id: `id`, `name`.
        boxes: one row per box: `image` and `category`, the numbers of their rows; `x`, `y`, `width`, `height`; `area`;
            `crowd`, whether it marks a crowd, which is neither found nor missed.
        groups: one row per box: what the file says of the boxes and their images otherwise, such as `occluded`.
    """

    images: pd.DataFrame
    categories: pd.DataFrame
    boxes: pd.DataFrame
    groups: pd.DataFrame


def read_truth(file: str | Path) -> Truth:
    """Read the true boxes of a file in COCO's format.

    Raises:
        InputError: a file of another form, ids twice, unknown images or classes, or boxes beyond their image.
    """
    path = path_of("file", file)
    content = _json(path)
    if not isinstance(content, dict):
        raise InputError(str(path), "no object", "images, categories and annotations, as COCO has")
    parts = {name: content.get(name) for name in ("images", "categories", "annotations")}
    images = _rows(f"{path}, images", parts["images"], ["id", "width", "height"])
    categories = _rows(f"{path}, categories", parts["categories"], ["id", "name"])
    boxes = _rows(f"{path}, annotations", parts["annotations"], ["image_id", "category_id", "bbox"])
    for name, table in (("images", images), ("categories", categories), ("annotations", boxes)):
        if "id" in table and table["id"].duplicated().any():
            twice = table["id"][table["id"].duplicated()].iloc[0]
            raise InputError(f"{path}, {name}", f"the id {twice} twice", "each id once")
    sizes = images[["width", "height"]].apply(pd.to_numeric, errors="coerce")
    if not (sizes > 0).all(axis=None):
        raise InputError(
            f"{path}, images", "sizes that are no numbers", "width and height in pixels"
        )
    images = images.sort_values("id", ignore_index=True)
    categories = categories.sort_values("id", ignore_index=True)
    if categories["name"].duplicated().any():
        raise InputError(f"{path}, categories", "a name twice", "a name for each")
    placed = _placed(f"{path}, annotations", boxes, images, categories)
    area = pd.to_numeric(boxes.get("area", pd.Series(np.nan, boxes.index)), errors="coerce")
    placed["area"] = area.fillna(placed["width"] * placed["height"]).astype(float)
    placed["crowd"] = boxes.get("iscrowd", pd.Series(0, boxes.index)).fillna(0).astype(bool)
    of_images = images.drop(columns="id").iloc[placed["image"]].reset_index(drop=True)
    own = boxes.drop(columns=["image_id", "category_id", "bbox"])
    groups = own.join(of_images.drop(columns=own.columns.intersection(of_images.columns)))
    return Truth(images, categories, placed, groups)


def read_detections(file: str | Path, truth: Truth) -> pd.DataFrame:
    """Read the boxes of a detector from a file in COCO's format of results.

    Returns:
        One row per box: `image`, `category`, `x`, `y`, `width`, `height` as in `Truth.boxes`, and `score`.

    Raises:
        InputError: a file of another form, unknown images or classes, boxes beyond their image, or scores that are no
            numbers.
    """
    path = path_of("file", file)
    rows = _rows(str(path), _json(path), ["image_id", "category_id", "bbox", "score"])
    placed = _placed(str(path), rows, truth.images, truth.categories)
    scores = pd.to_numeric(rows["score"], errors="coerce").astype(float)
    wrong = np.flatnonzero(~np.isfinite(scores))
    if len(wrong):
        got = f"the score {rows['score'].iloc[wrong[0]]} of detection {wrong[0]}"
        raise InputError(str(path), got, "finite numbers")
    return placed.assign(score=scores)


def _json(path: Path) -> Any:
    try:
        return json.loads(read_regular(path))
    except OSError as problem:
        raise InputError(
            str(path), f"an unreadable file ({problem.strerror})", "a readable one"
        ) from None
    except (ValueError, RecursionError):
        raise InputError(str(path), "a damaged or truncated file", "JSON") from None


def _rows(where: str, rows: object, names: Sequence[str]) -> pd.DataFrame:
    """Return a list of objects as a table with some columns or more."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(where, type(rows).__name__, "a list of objects, as COCO has")
    for place, row in enumerate(rows):
        for name in names:
            ids = int | str if name.endswith("id") else object
            if not isinstance(row.get(name), ids) or name not in row:
                got = f"{name} {row[name]!r}" if name in row else f"no {name}"
                raise InputError(where, f"{got} in object {place}", f"{', '.join(names)} in each")
    return pd.DataFrame(rows, columns=None if rows else list(names))


def _placed(
    where: str, rows: pd.DataFrame, images: pd.DataFrame, categories: pd.DataFrame
) -> pd.DataFrame:
    """Return boxes with the numbers of their images and classes."""
    placed = {}
    for name, known in (("image", images), ("category", categories)):
        ids = rows[f"{name}_id"]
        placed[name] = pd.Index(known["id"]).get_indexer(pd.Index(ids))
        unknown = np.flatnonzero(placed[name] < 0)
        if len(unknown):
            got = f"the {name} {ids.iloc[unknown[0]]} in row {unknown[0]}"
            raise InputError(where, got, f"{name} ids that the file of true boxes has")
    sides = _sides(where, rows["bbox"])
    _require_inside(where, sides, images.iloc[placed["image"]][["width", "height"]].to_numpy(float))
    return pd.DataFrame(placed).join(pd.DataFrame(sides, columns=SIDES))


def _sides(where: str, boxes: pd.Series) -> np.ndarray:
    """Return `(n, 4)` floats."""
    expected = "x, y, width and height, numbers of 0 or more"
    for place, box in enumerate(boxes):
        if not isinstance(box, list) or len(box) != 4:
            raise InputError(where, f"the box {box} in row {place}", expected)
    try:
        sides = np.array(boxes.tolist(), float).reshape(-1, 4)
    except (TypeError, ValueError):
        raise InputError(where, "boxes that are no numbers", expected) from None
    wrong = np.flatnonzero(~np.isfinite(sides).all(1) | (sides[:, 2:] < 0).any(1))
    if len(wrong):
        raise InputError(where, f"the box {boxes.iloc[wrong[0]]} in row {wrong[0]}", expected)
    return sides


def _require_inside(where: str, sides: np.ndarray, size: np.ndarray) -> None:
    """Require boxes within their images, `(n, 2)` widths and heights."""
    start, ends = sides[:, :2], sides[:, :2] + sides[:, 2:]
    if len(sides) and ends.max() <= 1 < size.min():
        raise InputError(where, "boxes within the first pixel", "pixels, not shares of the image")
    beyond = np.flatnonzero((start < -BEYOND).any(1) | (ends > size + BEYOND).any(1))
    if not len(beyond):
        return
    first = sides[beyond[0]].tolist()
    width, height = size[beyond[0]]
    got = f"{len(beyond):,} of {len(sides):,} boxes beyond their image, first {first} in {width:g} x {height:g}"
    corners = (sides[:, 2:] >= start).all() and (sides[:, 2:] <= size + BEYOND).all()
    hint = (
        "x, y, width, height; these boxes are x1, y1, x2, y2" if corners else "boxes clipped to it"
    )
    raise InputError(where, got, hint)


def detections(
    boxes_of: Callable[[Any], Iterable[Sequence[float]]], images: Iterable[tuple[int | str, Any]]
) -> list[dict[str, Any]]:
    """Return the detections of any model in COCO's format of results, ready for `json.dump`.

    Args:
        boxes_of: function that takes an image and yields x, y, width, height, score and category id of each detection,
            the box in pixels: the call of a Keras model or a `.tflite` file, and what decodes its outputs.
        images: pairs of image id and image.

    Example:
        >>> detections(lambda image: [(0, 0, image, 2, 0.5, 1)], [(7, 4)])
        [{'image_id': 7, 'category_id': 1, 'bbox': [0.0, 0.0, 4.0, 2.0], 'score': 0.5}]
    """
    return [
        {
            "image_id": image_id,
            "category_id": int(category),
            "bbox": [float(side) for side in sides],
            "score": float(score),
        }
        for image_id, image in images
        for *sides, score, category in boxes_of(image)
    ]
