"""Detections matched with true boxes as COCO does, by pycocotools [Li]."""

from __future__ import annotations

import contextlib
import dataclasses
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.extensions.detection.coco_files import SIDES, Truth

IOUS = np.linspace(0.5, 0.95, 10)
"""Intersections over union from which on a detection finds a true box; the first counts for single boxes."""

MOST = 100
"""Detections of a class in an image that count, the best first."""


@dataclasses.dataclass(frozen=True, eq=False)
class Matches:
    """The detections of one model, ordered by class and falling score, and what they find.

    Attributes:
        image: `(D,)` integers, numbers of their images.
        category: `(D,)` integers, numbers of their classes.
        score: `(D,)` floats.
        hits: `(10, D)` booleans, whether a detection finds a true box at each of `IOUS`.
        counted: `(10, D)` booleans; a detection in a crowd does not count.
        found_at: `(G,)` floats, score of the detection that finds a true box at the first of `IOUS`; -inf for none.
    """

    image: np.ndarray
    category: np.ndarray
    score: np.ndarray
    hits: np.ndarray
    counted: np.ndarray
    found_at: np.ndarray


def matched(truth: Truth, detections: pd.DataFrame) -> Matches:
    """Match detections with true boxes: the best score first, each with the free box of its class that overlaps most.

    Args:
        truth: the true boxes.
        detections: what `read_detections` returns.
    """
    evaluated = _evaluated(truth, detections)
    of_box = np.full(len(detections) + 1, -np.inf)  # ids begin at 1; 0 is none
    of_box[1:] = detections["score"]
    found_at = np.full(len(truth.boxes), -np.inf)
    for part in evaluated:
        boxes = np.array(part["gtIds"], int) - 1
        found_at[boxes] = of_box[part["gtMatches"][0].astype(int)]
    ids = np.concatenate([np.zeros(0, int), *(part["dtIds"] for part in evaluated)]).astype(int) - 1
    none = np.zeros((len(IOUS), 0))
    hits = np.concatenate([none, *(part["dtMatches"] for part in evaluated)], axis=1) > 0
    ignored = np.concatenate([none, *(part["dtIgnore"] for part in evaluated)], axis=1) > 0
    rows = detections.iloc[ids]
    category, score = rows["category"].to_numpy(), rows["score"].to_numpy()
    order = np.lexsort((-score, category))
    return Matches(
        rows["image"].to_numpy()[order],
        category[order],
        score[order],
        hits[:, order],
        ~ignored[:, order],
        found_at,
    )


def best_threshold(members: Sequence[Matches], boxes: int) -> float:
    """Return the score from which on the detections of all members have the best F1 at the first of `IOUS`.

    Args:
        members: matches of each member.
        boxes: number of true boxes that are no crowds.
    """
    score = np.concatenate([member.score[member.counted[0]] for member in members])
    hits = np.concatenate([member.hits[0][member.counted[0]] for member in members])
    order = np.argsort(-score, kind="stable")
    score = score[order]
    f1 = 2 * np.cumsum(hits[order]) / (np.arange(len(score)) + 1 + len(members) * boxes)
    last = np.append(score[1:] < score[:-1], True)[: len(score)]  # equal scores count together
    return float(score[np.argmax(np.where(last, f1, -1))]) if len(score) else 0.0


def _evaluated(truth: Truth, detections: pd.DataFrame) -> list[dict[str, Any]]:
    """Return pycocotools' matches of each class and image that has boxes."""
    from pycocotools.cocoeval import COCOeval

    with contextlib.redirect_stdout(io.StringIO()):
        sides = (
            _coco(truth, truth.boxes, area=truth.boxes["area"], iscrowd=truth.boxes["crowd"]),
            _coco(
                truth,
                detections,
                area=detections["width"] * detections["height"],
                iscrowd=False,
                score=detections["score"],
            ),
        )
        evaluation = COCOeval(*sides, "bbox")
        evaluation.params.areaRng, evaluation.params.areaRngLbl = [[0, np.inf]], ["all"]
        evaluation.params.maxDets = [MOST]
        evaluation.params.iouThrs = IOUS
        evaluation.evaluate()
    return [part for part in evaluation.evalImgs if part is not None]


def _coco(truth: Truth, boxes: pd.DataFrame, **columns: Any) -> Any:
    """Return boxes as an object of pycocotools; ids begin at 1, because 0 is no match."""
    from pycocotools.coco import COCO

    rows = pd.DataFrame({"image_id": boxes["image"], "category_id": boxes["category"], **columns})
    rows["bbox"] = pd.Series(boxes[SIDES].to_numpy(float).tolist(), boxes.index)
    rows["id"] = np.arange(len(boxes)) + 1
    coco = COCO()
    coco.dataset = {
        "images": [{"id": place} for place in range(len(truth.images))],
        "categories": [{"id": place} for place in range(len(truth.categories))],
        "annotations": rows.to_dict("records"),
    }
    coco.createIndex()
    return coco
