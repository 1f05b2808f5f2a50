"""One image through the severities of corruptions, with the predictions of each variant."""

import dataclasses
import importlib.util
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from tfaudit.analysis.stored_images import data_uri, pixels_of, png_of
from tfaudit.analysis.study_data import BASELINE, StudyData
from tfaudit.audits.prediction_counts.prediction_counts import PredictionCounts
from tfaudit.audits.robustness.robustness import Robustness
from tfaudit.datasets.corruptions.corrupt import corrupt
from tfaudit.errors import plural
from tfaudit.study.conditions import Condition

EDGE = 176
"""Pixels of a picture, twice its width on the page."""

CRISP = 96
"""Pixels; smaller pictures are enlarged without smoothing."""

LANES = 4
"""Corruptions shown at most: those under which the image is lost most often."""


@dataclasses.dataclass(frozen=True)
class ModalPrediction:
    """Majority prediction of a population: class, share of the votes (empty for one model), whether it is right."""

    text: str
    votes: str
    right: bool


@dataclasses.dataclass(frozen=True)
class VariantRow:
    """Title of a variant and what it predicts, picture by picture; None where it was not evaluated."""

    title: str
    predictions: tuple[ModalPrediction | None, ...]


@dataclasses.dataclass(frozen=True)
class Lane:
    """One corruption: data URIs of pictures, one per heading, empty where not evaluated; variants, baseline first."""

    corruption: str
    pictures: tuple[str, ...]
    variants: tuple[VariantRow, ...]


@dataclasses.dataclass(frozen=True)
class CorruptionStrip:
    """One image, clean and at every severity: a heading per column, "clean" first, and a lane per corruption.

    `example` is its id; `tiny` pictures should stay crisp when they are enlarged; the `caption` says which image it is,
    and why this one.
    """

    example: str
    headings: tuple[str, ...]
    lanes: tuple[Lane, ...]
    tiny: bool
    caption: str


Counts = Callable[[str, Condition | None], PredictionCounts]
"""Returns the counted predictions of a variant, under a condition or on clean images."""


def corruption_strip(
    data: StudyData,
    position: int,
    corruptions: Sequence[str],
    variants: Sequence[str],
    counts: Counts,
    *,
    caption: str = "",
) -> CorruptionStrip:
    """Return the stored image, corrupted as it was for the models, with the majority predictions.

    `corruptions` are computed ones, one lane each; `variants` are keys in the order of the rows; `counts` returns the
    counted predictions of a variant. Where the models saw a larger image than the stored one, the caption says so.
    """
    examples = data.store.examples(data.split, images=False, groups=False)
    (png,) = data.store.images(data.split, [position])
    picture = pixels_of(png) if png else None
    severities = sorted(
        {condition.severity for condition in data.conditions if condition.is_computed}
    )
    return CorruptionStrip(
        example=str(examples["example"].iloc[position]),
        headings=("clean", *(f"severity {severity}" for severity in severities)),
        lanes=tuple(
            _lane(data, picture, position, variants, name, severities, counts)
            for name in corruptions
        ),
        tiny=picture is not None and max(picture.shape[:2]) < CRISP,
        caption=f"{caption} {_thumbnail_note(data, picture)}{_OPENCV_NOTE * (not _has_opencv())}".strip(),
    )


def most_lost_image(
    data: StudyData, robustness: Mapping[str, Robustness], counts: Counts
) -> CorruptionStrip | None:
    """Return the image that compression loses to corruption most often while the baseline still gets it right.

    Clean, the image is right by the majority predictions of the baseline and the compressed population. Losses are
    counted over the computed conditions and the variants, whose results `robustness` holds by key. None where no
    image is lost, or none is stored.
    """
    computed = dict.fromkeys(
        condition.corruption for condition in data.conditions if condition.is_computed
    )
    losses = pd.DataFrame(
        {
            name: np.sum([result.lost_first[name] for result in robustness.values()], axis=0)
            for name in computed
        },
        dtype=int,
    )
    if losses.empty:
        return None
    position = int(losses.sum(axis=1).argmax())
    lost = losses.T[position].sort_values(ascending=False, kind="stable")
    lost = lost[lost > 0]
    if lost.empty or not data.store.images(data.split, [position])[0]:
        return None
    caption = _caption(data, position, len(lost) - LANES)
    shown = list(lost.index[:LANES])
    return corruption_strip(data, position, shown, [BASELINE, *robustness], counts, caption=caption)


def _lane(
    data: StudyData,
    pixels: np.ndarray | None,
    position: int,
    variants: Sequence[str],
    corruption: str,
    severities: Sequence[int],
    counts: Counts,
) -> Lane:
    conditions = [None, *(Condition(corruption, severity) for severity in severities)]
    evaluated = [condition in (None, *data.conditions) for condition in conditions]
    columns = list(zip(conditions, evaluated, strict=True))
    return Lane(
        corruption,
        tuple(_picture(data, pixels, position, c) if known else "" for c, known in columns),
        tuple(
            VariantRow(
                data.titles[key],
                tuple(_modal(counts(key, c), position) if known else None for c, known in columns),
            )
            for key in variants
        ),
    )


def _picture(
    data: StudyData, pixels: np.ndarray | None, position: int, condition: Condition | None
) -> str:
    """Return the stored image under a condition as a data URI; empty where it cannot be made."""
    if pixels is None or (condition and not _has_opencv()):
        return ""
    if condition:
        name, severity = condition
        seed = data.study.seed
        (pixels,) = corrupt(pixels[None], name, severity, seed=seed, first=position)
    return data_uri(png_of(pixels, EDGE))


_OPENCV_NOTE = " The corrupted pictures are not shown, as OpenCV is not installed: pip install 'tfaudit[corruptions]'."


def _has_opencv() -> bool:
    return importlib.util.find_spec("cv2") is not None


def _modal(counted: PredictionCounts, position: int) -> ModalPrediction | None:
    first = counted.image(position).iloc[0]
    votes = f"{100 * first['share']:.0f}\u00a0%" if len(counted.members) > 1 else ""
    return ModalPrediction(first["class"], votes, bool(first["answer"] == counted.labels[position]))


def _thumbnail_note(data: StudyData, picture: np.ndarray | None) -> str:
    model_size = data.study.crop or data.study.image_size
    if picture is None or not model_size or model_size <= max(picture.shape[:2]):
        return ""
    height, width = picture.shape[:2]
    return (
        f"The models saw {model_size} pixels; the stored picture, which is corrupted here, is a thumbnail of "
        f"{width} × {height}: corruptions of a fixed size in pixels look coarser than they were."
    )


def _caption(data: StudyData, position: int, more: int) -> str:
    examples = data.store.examples(data.split, images=False, groups=False)
    example = examples["example"].iloc[position]
    label = examples["label"].iloc[position]
    several = len(data.members[BASELINE]) > 1
    below = "majority predictions with their share of the votes" if several else "predictions"
    also = (
        f" The models also differ on it under {plural(more, 'more corruption')}."
        if more > 0
        else ""
    )
    return (
        f"Image {example}, of class {examples.attrs['class_names'][label]}: right when clean, and the image that "
        "compressed models lose to corruption most often while the baseline still gets it right. Below the pictures: "
        f"{below}.{also}"
    )
