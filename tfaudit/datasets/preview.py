"""Previews, which show an example to people: an image, a text or a row of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.structure import leaves, mapped
from tfaudit.errors import InputError, one_line

LONGEST = 2_000  # largest number of characters of a text


def previews(dataset: Dataset, edge: int) -> Iterator[str | np.ndarray]:
    """Return the preview of every example: a text, empty for none, or an image, uint8 `(H, W, C)`.

    Images are scaled to at most `edge` pixels unless the data set has previews of its own.

    Example:
        >>> import numpy as np
        >>> rows = Dataset("d", "test", ("a", "b"), (None,) * 3, 2, inputs={"age": np.array([3, 5])})
        >>> list(previews(rows, 64))
        ['age: 3', 'age: 5']
    """
    if dataset.has_images and dataset.preview is None:
        return dataset.thumbnails(edge)
    return (_seen(dataset, i) for i in range(dataset.num_examples))


def _seen(dataset: Dataset, position: int) -> str | np.ndarray:
    preview = dataset.preview
    if preview is None or callable(preview):
        example = mapped(lambda values: values[position], dataset.held)
        try:
            shown = _default(example) if preview is None else preview(example)
        except Exception as problem:
            got = f"a function that failed for example {position} ({type(problem).__name__}: {one_line(problem)})"
            raise InputError(
                "preview", got, "a text, a dictionary or an image of every example"
            ) from problem
    else:
        shown = preview[position]
    if isinstance(shown, str):
        return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"
    if isinstance(shown, Mapping):
        return "\n".join(f"{name}: {_number(value)}" for name, value in shown.items())
    pixels = np.asarray(shown)
    pixels = pixels[..., None] if pixels.ndim == 2 else pixels
    if pixels.dtype == np.uint8 and pixels.ndim == 3 and pixels.shape[2] in (1, 3):
        return pixels
    got = (
        f"a {type(shown).__name__} of {pixels.dtype}, shape {pixels.shape}, for example {position}"
    )
    raise InputError("preview", got, "a text, a dictionary, or an image of uint8 (H, W, 1 or 3)")


def _default(example: Any) -> str | dict[str, Any]:
    """Return a text as it is and single values as a row; nothing for arrays of numbers."""
    if isinstance(example, str):
        return str(example)
    parts = dict(leaves(example, ""))
    single = {name.strip("[]'"): value for name, value in parts.items() if np.ndim(value) == 0}
    return single if len(single) == len(parts) else ""


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
