"""One image through corruption and severity, with each model's answer: where it is lost first."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterator, Mapping

import numpy as np
from PIL import Image

from tfaudit.audit.robustness import Robustness
from tfaudit.conditions import Condition
from tfaudit.predictions import Predictions
from tfaudit.report.evidence import BASELINE
from tfaudit.report.gallery import data_uri
from tfaudit.report.material import Material

__all__ = ["Answer", "Lane", "Strip", "Voices", "strip"]

LANES = 4
"""Corruptions that are shown at most: those under which the image is lost most often."""

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


def strip(material: Material, found: Mapping[str, Robustness]) -> Strip | None:
    """The image that compression loses to corruption most often while the baseline still holds it.

    It is right when clean by the modes of the baseline and of the compressed population, counted over the variants and
    the computed conditions. The pictures are corrupted anew from the stored one, as they were for the models.

    Args:
        material: of the report.
        found: results by variant.

    Returns:
        None where no image is lost so, or none is stored.
    """
    keys = (BASELINE, *found)
    evaluated = [material.conditions, *(material.inputs.evaluations[key] for key in keys)]
    made = material.keep("strip", tuple[Strip, ...], lambda: tuple(_strips(material, found)), of=keys, by=evaluated)
    return made[0] if made else None


def _strips(material: Material, found: Mapping[str, Robustness]) -> Iterator[Strip]:
    """One, or none."""
    computed = [condition for condition in material.conditions if condition.is_computed]
    totals = {
        corruption: np.sum([each.lost_first[corruption] for each in found.values()], axis=0, dtype=int)
        for corruption in dict.fromkeys(condition.corruption for condition in computed)
    }
    if not totals:
        return
    position = int(np.argmax(sum(totals.values())))
    lost = {corruption: int(counts[position]) for corruption, counts in totals.items() if counts[position]}
    (png,) = material.store.images(material.split, [position])
    if not lost or not png:
        return
    examples = material.store.examples(material.split, images=False, groups=False)
    picture = _pixels(png)
    shown = sorted(lost, key=lambda corruption: -lost[corruption])[:LANES]
    severities = sorted({condition.severity for condition in computed})
    variants = [BASELINE, *found]
    label = examples.attrs["class_names"][examples["label"].iloc[position]]
    yield Strip(
        example=str(examples["example"].iloc[position]),
        headings=("clean", *(f"severity {severity}" for severity in severities)),
        lanes=tuple(
            _lane(
                material, picture, position, variants, [Condition(name, severity) for severity in severities], computed
            )
            for name in shown
        ),
        tiny=max(picture.shape[:2]) < CRISP,
        says=_says(material, str(examples["example"].iloc[position]), label, picture, len(lost) - len(shown)),
    )


def _lane(
    material: Material,
    picture: np.ndarray,
    position: int,
    variants: list[str],
    lane: list[Condition],
    computed: list[Condition],
) -> Lane:
    from tfaudit.datasets.corruptions.registry import corrupt  # OpenCV is loaded where a picture is needed

    pictures, answers = [_picture(picture)], {key: [_answer(material.populations[key], position)] for key in variants}
    for condition in lane:
        known = condition in computed
        if known:
            changed = corrupt(picture[None], *condition, seed=material.study.seed, first=position)[0]
        pictures.append(_picture(changed) if known else "")
        for key in variants:
            population = material.store.predictions(key, condition.split) if known else None
            answers[key].append(_answer(population, position))
    voices = tuple(Voices(material.titles[key], tuple(given)) for key, given in answers.items())
    return Lane(lane[0].corruption, tuple(pictures), voices)


def _answer(population: Predictions | None, position: int) -> Answer | None:
    if population is None:
        return None
    mode = population.modal()[position]
    share = (population.top1[:, position] == mode).mean()
    votes = f"{100 * share:.0f}\u00a0%" if population.num_members > 1 else ""
    return Answer(population.class_names[mode], votes, bool(mode == population.labels[position]))


def _says(material: Material, example: str, label: str, picture: np.ndarray, more: int) -> str:
    kind = "modal answers with their share of the votes" if len(material.inputs.members[BASELINE]) > 1 else "answers"
    sentence = (
        f"Image {example}, of class {label}: right when clean, and the one that compressed models lose to corruption "
        f"most often while the baseline still holds it. Below the pictures stand the {kind}."
    )
    if more:
        sentence += f" {more} more corruption{'s' * (more > 1)} part{'s' * (more == 1)} the models on it."
    seen = material.study.crop or material.study.image_size
    if seen and seen > max(picture.shape[:2]):
        height, width = picture.shape[:2]
        sentence += (
            f" The models saw {seen} pixels; the stored picture, which is corrupted here, is a thumbnail of "
            f"{width} × {height}: corruptions of a fixed size in pixels look coarser than they were."
        )
    return sentence


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
