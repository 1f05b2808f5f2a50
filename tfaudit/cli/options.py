"""Options that several subcommands share: their help texts, and the objects in which they are handed on."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from tfaudit.errors import require

IMAGES, PREDICTIONS = "Images", "Tables and arrays"
"""Panels of the help."""


def option(text: str, *names: str, panel: str | None = None) -> Any:
    """Return an option with its help text, for `Annotated`; by default it has the parameter's name."""
    return typer.Option(*names, help=text, rich_help_panel=panel)


Directory = Annotated[Path, typer.Argument(help="Directory of a study that `tfaudit run` made.")]
Alpha = Annotated[float, option("Significance level; confidence intervals have level 1 - alpha.")]
Permutations = Annotated[
    int, option("Random reassignments of members in permutation tests; 0 for no such tests.")
]
StudyOut = Annotated[Path | None, option("Write a study with its report.html here.", "--out")]
ScoresAre = Annotated[
    str,
    option(
        "What scores are if their values do not show it: probabilities, logits or auto.",
        "--scores-are",
    ),
]
ClassNames = Annotated[
    Path | None, option("File of class names in the order of the outputs: one per line, or JSON.")
]


def _of_images(text: str, *names: str) -> Any:
    return option(text, *names, panel=IMAGES)


def _of_predictions(text: str, *names: str) -> Any:
    return option(text, *names, panel=PREDICTIONS)


Split = Annotated[str, _of_images("Split of a data set, or of a folder that has splits.")]
ImageSize = Annotated[
    int | None,
    _of_images("Scale the shorter side to this many pixels and crop the central square."),
]
Crop = Annotated[
    int | None, _of_images("Crop the central square of this many pixels, after any scaling.")
]
Preprocess = Annotated[
    str,
    _of_images(
        "Pixels that models expect: none (0 to 255), unit (0 to 1), or tf, caffe, torch as in Keras."
    ),
]
BaselinePreprocess = Annotated[
    str | None, _of_images("Pixels that the baseline expects, if not those of --preprocess.")
]
BatchSize = Annotated[int, _of_images("Number of images per batch of predictions.")]
Recursive = Annotated[
    bool, _of_images("Look for images in folders within the folders of the classes.", "--recursive")
]
SkipUnreadable = Annotated[
    int, _of_images("Leave out up to this many unreadable images and list them.")
]
ExampleIds = Annotated[
    Path | None,
    _of_images("CSV file whose column `example` holds the ids of the only images to judge."),
]
Output = Annotated[
    str | None, _of_images("Name of the output to judge, for models with several.", "--output")
]
Limit = Annotated[int | None, _of_images("Largest number of images; all by default.")]

IdColumn = Annotated[
    str | None,
    _of_predictions(
        "Column of the example ids; by default `example`, `example_id` or `id`.", "--id"
    ),
]
LabelColumn = Annotated[
    str | None, _of_predictions("Column, or array, of the true classes; by default `label`.")
]
PredictionColumn = Annotated[
    str | None,
    _of_predictions("Column, or array, of the predicted classes; by default `prediction`."),
]
Paired = Annotated[
    bool,
    _of_predictions(
        "Each compressed model was made from the baseline of its number, not trained from scratch.",
        "--paired",
    ),
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageOptions:
    """How labelled images are read and put through models.

    Attributes:
        split: split of a data set, or of a folder with splits.
        image_size: pixels to which the shorter side is scaled; without `crop` the central square is kept. By default
            images from a folder are scaled to the size that the models take.
        crop: pixels of the central square that is cropped after any scaling.
        preprocess: how the models expect pixels, as in `tfaudit.models.pretrained`.
        baseline_preprocess: how the baseline expects them; `preprocess` by default.
        classes: file of class names, one per line or a JSON list, in the order of the models' outputs; for data that
            hold only some of the classes or sort them differently.
        batch_size: images per batch.
        limit: largest number of images; all by default.
        recursive: as in `labelled_images`.
        skip_unreadable: as in `labelled_images`.
        examples: CSV file whose column `example` holds the ids of the only images to use.
        scores_are: what the models' outputs are where neither they nor the models show it, as in `predict`.
        output: name of the output of models with several.

    Raises:
        InputError: a value that is not allowed.
    """

    split: str = "test"
    image_size: int | None = None
    crop: int | None = None
    preprocess: str = "none"
    baseline_preprocess: str | None = None
    classes: Path | None = None
    batch_size: int = 32
    limit: int | None = None
    recursive: bool = False
    skip_unreadable: int = 0
    examples: Path | None = None
    scores_are: str = "auto"
    output: str | None = None

    def __post_init__(self) -> None:
        require(self.batch_size >= 1, "batch_size", self.batch_size, "1 or more")
        require(self.skip_unreadable >= 0, "skip_unreadable", self.skip_unreadable, "0 or more")
