"""Cost of a model: size, operations and latency."""

from __future__ import annotations

import dataclasses
import gzip
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from tfaudit.audits.result import Result, without_nan
from tfaudit.compress.counts import Counts, counts
from tfaudit.compress.litert.latency import (
    BATCHES,
    COLUMNS,
    REPEATS,
    latencies,
)
from tfaudit.compress.litert.quantize import as_flatbuffer
from tfaudit.compress.model_files import open_model
from tfaudit.compress.model_inputs import Inputs
from tfaudit.errors import InputError, require, require_whole

if TYPE_CHECKING:
    import keras


UNCONVERTED = (
    "TensorFlow Lite cannot convert the model, `tfaudit.quantize` says why: bytes are those of its weights in Keras, "
    "and latency is unknown"
)
"""Note on a Keras model without a flatbuffer."""


@dataclasses.dataclass(frozen=True)
class Cost(Result):
    """Size, operations and latency of a model.

    Attributes:
        counts: weights, zeros and floating-point operations.
        bytes: size of the flatbuffer; for a Keras model, of its float32 conversion, or of its weights as Keras stores
            them if it cannot be converted, such as one that Keras has quantized.
        gzipped_bytes: size of the flatbuffer after gzip at level 6, as for a download, which zeros reduce.
        latency: table of `latencies` for batches of 1 and 32 images, on this machine.
        converted: whether there is a flatbuffer; without one, no latency is known.
    """

    counts: Counts
    bytes: int
    gzipped_bytes: int
    latency: pd.DataFrame
    converted: bool = True

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """What is not counted or measured, one sentence each."""
        return self.counts.notes if self.converted else (*self.counts.notes, UNCONVERTED)

    def frame(self) -> pd.DataFrame:
        """Return one row.

        Columns: `parameters`, `prunable`, `zeros`, `sparsity`, `flops`, `effective_flops`, `bytes`, `gzipped_bytes`,
        and for batches of 1 and 32 images `latency_1_ms`, `latency_1_q25_ms`, `latency_1_q75_ms`, `latency_32_ms`,
        ...: median and quartiles in milliseconds, NaN if not measured.
        """
        return pd.DataFrame([self._row()])

    def summary(self) -> dict[str, Any]:
        """Return the row as plain numbers, None if not measured, and the `notes`."""
        return {**without_nan(self._row()), "notes": list(self.notes)}

    def _row(self) -> dict[str, Any]:
        row = {**self.counts.summary(), "bytes": self.bytes, "gzipped_bytes": self.gzipped_bytes}
        measured = self.latency.set_index("batch")
        for batch in BATCHES:
            for column, name in (("latency_ms", "ms"), ("q25_ms", "q25_ms"), ("q75_ms", "q75_ms")):
                row[f"latency_{batch}_{name}"] = float(measured[column].get(batch, np.nan))
        return row


def cost(
    model: keras.Model | bytes | str | Path,
    *,
    threads: int = 1,
    repeats: int = REPEATS,
    images: Inputs | None = None,
    signature: str | None = None,
) -> Cost:
    """Measure size, operations and latency of a Keras model or a flatbuffer.

    Weights and operations are those of the model itself; the bytes and latency of a Keras model are those of its
    float32 flatbuffer. To compare models, use `measure_variants`, which interleaves them: the speed of a machine drifts
    by more than many compressions gain.

    Args:
        model: a built Keras 3 model, the bytes of a flatbuffer, or the path of a `.keras` or `.tflite` file.
        threads: number of LiteRT threads.
        repeats: number of latency samples; 0 measures no latency.
        images: inputs of the network, `(N, H, W, C)` or any that `predict` takes; by default seeded pixels or tokens.
        signature: name of the signature to measure if a flatbuffer has several, as for `predict`.

    Raises:
        InputError: the model, the images or a setting cannot be used.

    >>> import keras
    >>> inputs = keras.Input((8, 8, 1))
    >>> cost(keras.Model(inputs, keras.layers.Conv2D(2, 3)(inputs)), repeats=3).frame()[["parameters", "flops"]]
       parameters  flops
    0          20   1296
    """
    (only,) = _costs({"model": model}, repeats, threads, images, signature).values()
    return only


def measure_variants(
    models: Mapping[str, keras.Model | bytes | str | Path],
    *,
    threads: int = 1,
    repeats: int = REPEATS,
    images: Inputs | None = None,
    signature: str | None = None,
    on_error: Callable[[str, InputError], object] | None = None,
) -> pd.DataFrame:
    """Measure the costs of several models of one task, such as one member of each variant, with interleaved timing.

    Run it alone, after the population has been trained, since other work on the machine disturbs the timing. All
    flatbuffers are in memory together. Arguments and errors are those of `cost`, with `models` by name of the variant;
    `repeats` is the number of rounds, and each round times every model once. `on_error` is called with the name of a
    model that cannot be used and its error, and the model is left out; by default the error is raised.

    Returns:
        A row per model: `variant`, the columns of `Cost.frame`, `latency_1_ratio` and `latency_32_ratio`, the median
        over rounds of the ratio to the first model, NaN if that cannot run, and `notes`, a text.

    >>> import keras
    >>> models = {str(units): keras.Sequential([keras.Input((4,)), keras.layers.Dense(units)]) for units in (2, 8)}
    >>> measure_variants(models, repeats=0)[["variant", "parameters", "flops"]]
      variant  parameters  flops
    0       2          10     16
    1       8          40     64
    """
    rows = []
    costs = _costs(models, repeats, threads, images, signature, on_error)
    for name, model_cost in costs.items():
        ratios = model_cost.latency.set_index("batch")["ratio"].astype(float)
        extra = {f"latency_{batch}_ratio": ratios.get(batch, np.nan) for batch in BATCHES}
        notes = {"notes": "; ".join(model_cost.notes)}
        rows.append({"variant": name} | model_cost._row() | extra | notes)
    return pd.DataFrame(rows)


def _costs(
    models: Mapping[str, Any],
    repeats: int,
    threads: int,
    images: Inputs | None,
    signature: str | None,
    on_error: Callable[[str, InputError], object] | None = None,
) -> dict[str, Cost]:
    require(len(models) > 0, "models", dict(models), "one model or more")
    require_whole("repeats", repeats, 0)
    require_whole("threads", threads, 1)
    sizes = {}
    for name, model in models.items():
        try:
            sizes[name] = _sized(model, images, signature)
        except InputError as error:
            if on_error is None:
                raise
            on_error(name, error)
    contents = {name: size.content for name, size in sizes.items() if size.content is not None}
    times = pd.DataFrame(columns=list(COLUMNS))
    if repeats and contents:
        times = latencies(
            contents, batches=BATCHES, repeats=repeats, threads=threads, images=images
        )
        if next(iter(sizes)) not in contents:
            times["ratio"] = np.nan
    return {
        name: Cost(
            size.counts,
            len(size.stored),
            len(gzip.compress(size.stored, 6, mtime=0)),
            times[times["model"] == name].reset_index(drop=True),
            size.content is not None,
        )
        for name, size in sizes.items()
    }


class _Sized(NamedTuple):
    """What of a model needs no clock: its counts, the bytes in which it is stored, and its flatbuffer, if any."""

    counts: Counts
    stored: bytes
    content: bytes | None


def _sized(model: Any, images: Inputs | None, signature: str | None) -> _Sized:
    opened = open_model(model, signature)
    if isinstance(opened, bytes):
        return _Sized(counts(opened), opened, opened)
    from tfaudit.compress.keras_model import require_tensorflow

    require_tensorflow()
    import keras

    from tfaudit.compress.litert.conversion_error import ConversionError

    try:
        content = as_flatbuffer(opened, images)
        return _Sized(counts(opened), content, content)
    except ConversionError:
        arrays = map(keras.ops.convert_to_numpy, opened.weights)
        return _Sized(counts(opened), b"".join(array.tobytes() for array in arrays), None)
