"""One image through corruption and severity, with each model's answer, as tables of reports and the viewer show it."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable, Sequence

import numpy as np
from PIL import Image

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audit.prediction_counts import Tally, tally
from tfaudit.report.exemplar_cards import data_uri
from tfaudit.study.conditions import Condition

__all__ = ["Answer", "Lane", "Strip", "Voices", "image_strip"]

EDGE = 176  # pixels of a picture in the page, twice its width on the page
CRISP = 96  # smaller pictures are enlarged


@dataclasses.dataclass(frozen=True)
class Answer:
    """The modal answer of a population.

    Attributes:
        text: name of the class.
        votes: share of the votes for it; empty for a single model.
        right: is it the true class?
    """

    text: str
    votes: str
    right: bool


@dataclasses.dataclass(frozen=True)
class Voices:
    """What one variant answers, picture by picture.

    Attributes:
        title: of the variant.
        answers: one per heading; None where it was not asked.
    """

    title: str
    answers: tuple[Answer | None, ...]


@dataclasses.dataclass(frozen=True)
class Lane:
    """One corruption.

    Attributes:
        corruption: its name.
        pictures: data URIs, one per heading; empty where the severity was not evaluated.
        models: the baseline first.
    """

    corruption: str
    pictures: tuple[str, ...]
    models: tuple[Voices, ...]


@dataclasses.dataclass(frozen=True)
class Strip:
    """One image, clean and under every severity.

    Attributes:
        example: its id.
        headings: of the columns, "clean" first.
        lanes: a block of rows per corruption.
        tiny: are the pictures so small that their pixels should stay crisp when enlarged?
        says: which image it is, and why this one.
    """

    example: str
    headings: tuple[str, ...]
    lanes: tuple[Lane, ...]
    tiny: bool
    says: str


def image_strip(
    study_audit: StudyAudit,
    position: int,
    corruptions: Sequence[str],
    variants: Sequence[str],
    *,
    says: str = "",
    answers: Callable[[str, Condition], Tally] | None = None,
) -> Strip:
    """The stored picture, corrupted anew as it was for the models, and the modal answers to it.

    Args:
        study_audit: of the study.
        position: of the image.
        corruptions: computed ones, a block of rows each.
        variants: keys, in the order of the rows.
        says: which image it is; that the models saw a larger one is added here.
        answers: those of a variant under a condition, counted; read from the store by default.
    """

    def read(key: str, condition: Condition) -> Tally:
        return tally(study_audit.under_condition(key, condition))

    examples = study_audit.store.examples(study_audit.split, images=False, groups=False)
    (png,) = study_audit.store.images(study_audit.split, [position])
    picture = _pixels(png) if png else None
    severities = sorted({condition.severity for condition in study_audit.conditions if condition.is_computed})
    lanes = tuple(
        _lane(study_audit, picture, position, variants, [Condition(name, each) for each in severities], answers or read)
        for name in corruptions
    )
    return Strip(
        example=str(examples["example"].iloc[position]),
        headings=("clean", *(f"severity {severity}" for severity in severities)),
        lanes=lanes,
        tiny=picture is not None and max(picture.shape[:2]) < CRISP,
        says=f"{says} {_thumbnail(study_audit, picture)}".strip(),
    )


def _lane(
    study_audit: StudyAudit,
    picture: np.ndarray | None,
    position: int,
    variants: Sequence[str],
    lane: list[Condition],
    answers: Callable[[str, Condition], Tally],
) -> Lane:
    from tfaudit.datasets.corruptions.registry import corrupt  # OpenCV is loaded where a picture is needed

    pictures = ["" if picture is None else _picture(picture)]
    given = {key: [_answer(study_audit.tally(key), position)] for key in variants}
    for condition in lane:
        known = condition in study_audit.conditions
        changed = ""
        if known and picture is not None:
            changed = _picture(corrupt(picture[None], *condition, seed=study_audit.study.seed, first=position)[0])
        pictures.append(changed)
        for key in variants:
            given[key].append(_answer(answers(key, condition), position) if known else None)
    voices = tuple(Voices(study_audit.titles[key], tuple(each)) for key, each in given.items())
    return Lane(lane[0].corruption, tuple(pictures), voices)


def _answer(counted: Tally, position: int) -> Answer | None:
    first = counted.image(position).iloc[0]
    votes = f"{100 * first['share']:.0f}\u00a0%" if len(counted.members) > 1 else ""
    return Answer(first["class"], votes, bool(first["answer"] == counted.labels[position]))


def _thumbnail(study_audit: StudyAudit, picture: np.ndarray | None) -> str:
    seen = study_audit.study.crop or study_audit.study.image_size
    if picture is None or not seen or seen <= max(picture.shape[:2]):
        return ""
    height, width = picture.shape[:2]
    return (
        f"The models saw {seen} pixels; the stored picture, which is corrupted here, is a thumbnail of "
        f"{width} × {height}: corruptions of a fixed size in pixels look coarser than they were."
    )


def _pixels(png: bytes) -> np.ndarray:
    """`(H, W, 1 or 3)` uint8."""
    with Image.open(io.BytesIO(png)) as image:
        pixels = np.asarray(image if image.mode == "L" else image.convert("RGB"))
    return pixels[..., None] if pixels.ndim == 2 else pixels


def _picture(pixels: np.ndarray) -> str:
    image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    image.thumbnail((EDGE, EDGE))  # shrinks only
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=True)
    return data_uri(buffer.getvalue())
