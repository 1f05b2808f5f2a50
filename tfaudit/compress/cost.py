"""What compression buys: size, work and time of a model, as one row."""

from __future__ import annotations

import dataclasses
import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tfaudit.compress.counts import Counts, counts
from tfaudit.compress.litert.latency import BATCHES, COLUMNS, REPEATS, as_flatbuffer, latencies
from tfaudit.compress.model_files import open_model
from tfaudit.errors import require

if TYPE_CHECKING:
    import keras

__all__ = ["Cost", "cost", "measure_variants"]

_GZIP_LEVEL = 6


@dataclasses.dataclass(frozen=True)
class Cost:
    """What a model costs on a device.

    Attributes:
        counts: Weights, zeros and floating-point operations.
        bytes: Of the flatbuffer; a Keras model's is its float32 conversion.
        gzipped_bytes: Of the same, compressed by gzip at level 6: what a download takes. This is where zeros save.
        latency: Rows of `latencies` for batches of 1 and 32 images, on this machine.
    """

    counts: Counts
    bytes: int
    gzipped_bytes: int
    latency: pd.DataFrame

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader has to know, one sentence each."""
        return self.counts.notes

    def frame(self) -> pd.DataFrame:
        """One row.

        Columns: `parameters`, `prunable`, `zeros`, `sparsity`, `flops`, `effective_flops`, `bytes`, `gzipped_bytes`,
        and for batches of 1 and 32 images `latency_1_ms`, `latency_1_q25_ms`, `latency_1_q75_ms`, `latency_32_ms`,
        ...: median and quartiles of milliseconds, NaN where they were not measured.
        """
        return pd.DataFrame([self._row()])

    def summary(self) -> dict[str, Any]:
        """The row as plain numbers, and the `notes`; None stands for what was not measured."""
        row = {name: None if value != value else value for name, value in self._row().items()}
        return {**row, "notes": list(self.notes)}

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
    images: np.ndarray | None = None,
) -> Cost:
    """Measures size, work and latency of a Keras model or a flatbuffer.

    A Keras model is counted as it is, and its bytes and latency are those of its float32 flatbuffer. To compare models,
    use `measure_variants`, which lets them take turns: a machine's speed drifts by more than many compressions gain.

    Args:
        model: A built Keras 3 model, the bytes of a flatbuffer, or the path of a `.keras` or `.tflite` file.
        threads: Threads of LiteRT.
        repeats: Samples of the latency; 0 measures none.
        images: What the network is fed, `(N, H, W, C)`; without them seeded pixels.

    Raises:
        InputError: A model, images or a setting that cannot be used.
        ConversionError: The model cannot be converted.

    Example:
        >>> import keras
        >>> inputs = keras.Input((8, 8, 1))
        >>> spent = cost(keras.Model(inputs, keras.layers.Conv2D(2, 3)(inputs)), repeats=3)
        >>> spent.frame()[["parameters", "flops"]]
           parameters  flops
        0          20   1296
        >>> bool(0 < spent.latency["latency_ms"][0] < spent.latency["latency_ms"][1])
        True
    """
    (only,) = _costs({"model": model}, repeats, threads, images).values()
    return only


def measure_variants(
    models: Mapping[str, keras.Model | bytes | str | Path],
    *,
    threads: int = 1,
    repeats: int = REPEATS,
    images: np.ndarray | None = None,
) -> pd.DataFrame:
    """Costs of several models of one task, such as one member of each variant of a study, timed in turns.

    Run it alone, after the population is made: workers that train meanwhile disturb each other's clocks. All
    flatbuffers are in memory together.

    Args:
        models: As `cost` takes them, by the name of the variant; ratios are to the first.
        threads: Threads of LiteRT.
        repeats: Rounds in which each has its turn; 0 measures no latency.
        images: What the networks are fed, `(N, H, W, C)`; without them seeded pixels.

    Returns:
        A row per model: `variant`, the columns of `Cost.frame`, and `latency_1_ratio` and `latency_32_ratio`, medians
        over rounds of the ratio to the first model.

    Raises:
        InputError: A model, images or a setting that cannot be used.
        ConversionError: A model cannot be converted.

    Example:
        >>> import keras
        >>> models = {str(units): keras.Sequential([keras.Input((4,)), keras.layers.Dense(units)]) for units in (2, 8)}
        >>> measure_variants(models, repeats=0)[["variant", "parameters", "flops"]]
          variant  parameters  flops
        0       2          10     16
        1       8          40     64
    """
    rows = []
    for name, spent in _costs(models, repeats, threads, images).items():
        ratios = spent.latency.set_index("batch")["ratio"]
        extra = {f"latency_{batch}_ratio": float(ratios.get(batch, np.nan)) for batch in BATCHES}
        rows.append(spent.frame().assign(**extra).assign(variant=name))
    table = pd.concat(rows, ignore_index=True)
    return table[["variant", *table.columns.drop("variant")]]


def _costs(models: Mapping[str, Any], repeats: int, threads: int, images: np.ndarray | None) -> dict[str, Cost]:
    require(len(models) > 0, "models", dict(models), "one model or more")
    whole = isinstance(repeats, int | np.integer) and not isinstance(repeats, bool)
    require(whole and repeats >= 0, "repeats", repeats, "a whole number of 0 or more")
    found, contents = {}, {}
    for name, model in models.items():
        opened = open_model(model)
        found[name], contents[name] = counts(opened), as_flatbuffer(opened, images)
    times = pd.DataFrame(columns=list(COLUMNS))
    if repeats:
        times = latencies(contents, batches=BATCHES, repeats=repeats, threads=threads, images=images)
    return {
        name: Cost(
            counts=found[name],
            bytes=len(content),
            gzipped_bytes=len(gzip.compress(content, _GZIP_LEVEL, mtime=0)),
            latency=times[times["model"] == name].reset_index(drop=True),
        )
        for name, content in contents.items()
    }
