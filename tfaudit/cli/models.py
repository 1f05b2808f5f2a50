"""Models of the user's own on images of the user's own, for `tfaudit compare` and `tfaudit gate`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from tfaudit.predictions import Predictions

__all__ = ["ModelPredictions", "read_models"]


@dataclasses.dataclass(frozen=True)
class ModelPredictions:
    """What model files answer on the same labelled images.

    Attributes:
        baseline: predictions of the uncompressed model, one member.
        compressed: predictions of each compressed model by its file's stem, made unique; one member each.
        bytes: size of each model file: the baseline's under "baseline", the others under their names.
        thumbnails: PNGs of at most 224 pixels, one per example; empty unless asked for.
        notes: what a reader has to know, one sentence each.
    """

    baseline: Predictions
    compressed: dict[str, Predictions]
    bytes: dict[str, int]
    thumbnails: list[bytes]
    notes: tuple[str, ...]


def read_models(
    baseline: Path,
    compressed: Sequence[Path],
    data: str,
    *,
    split: str = "test",
    image_size: int | None = None,
    crop: int | None = None,
    preprocess: str = "none",
    classes: Path | None = None,
    batch_size: int = 32,
    limit: int | None = None,
    console: Console,
    thumbnails: bool = False,
) -> ModelPredictions:
    """Runs every model on the same images, batch by batch.

    Raises:
        InputError: a file that cannot be read, or images, labels and models that do not fit each other.
    """
    raise NotImplementedError
