"""Latency of flatbuffers in LiteRT on this machine, with interleaved timing."""

from __future__ import annotations

import math
import timeit
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.random import Generator

from tfaudit.audits.gate.limits import Limits
from tfaudit.compress.litert.flatbuffer import CannotRunError, Flatbuffer
from tfaudit.compress.litert.flatbuffer_contents import table_rows
from tfaudit.compress.litert.quantize import as_flatbuffer
from tfaudit.compress.model_files import open_model
from tfaudit.compress.model_inputs import Input, Inputs, arrays_of
from tfaudit.datasets.structure import mapped, without_lists
from tfaudit.errors import InputError, require, require_whole

if TYPE_CHECKING:
    import keras

BATCHES = (1, 32)
REPEATS = 20
COLUMNS = (
    "batch",
    "model",
    "latency_ms",
    "q25_ms",
    "q75_ms",
    "least_ms",
    "ratio",
    "ratio_q25",
    "ratio_q75",
    "repeats",
    "threads",
)
SAMPLE_SECONDS = 0.005
"""Minimum duration of a sample: a single call of a small network is too short for the clock."""


def limited_latency(
    model: bytes | str | Path | None, limits: Limits, signature: str | None = None
) -> float:
    """Return the latency of a model's file on this machine, milliseconds; NaN if it is not limited, or has no file.

    Args:
        model: bytes of a flatbuffer, or path of a file; None if it is unknown.
        limits: limits of a gate.
        signature: name of the signature to measure if a flatbuffer has several.

    Raises:
        InputError: LiteRT cannot run the file.

    >>> limited_latency(b"TFL3", Limits(size_bytes=1000))
    nan
    """
    if model is None or limits.latency_ms is None:
        return math.nan
    table = latencies({"file": open_model(model, signature)}, batches=[1])
    return float(table["latency_ms"][0])


def latencies(
    models: Mapping[str, keras.Model | bytes | str | Path],
    *,
    batches: Sequence[int] = BATCHES,
    repeats: int = REPEATS,
    threads: int = 1,
    images: Inputs | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Time networks in LiteRT, interleaved: each round times every model once, in shuffled order.

    A slowdown of the machine affects all models alike, and ratios only compare times of the same round. For each sample
    an untimed call loads the network into the caches; as many calls as take 5 ms together are then timed. Only the
    network is timed, not the copying of images. Nothing else should run at the same time.

    Args:
        models: Keras 3 models (converted to float32 flatbuffers first), bytes of flatbuffers, or paths, by name.
        batches: batch sizes, in images per call.
        repeats: number of rounds, which is the number of samples per model and batch size.
        threads: number of LiteRT threads.
        images: inputs `(N, H, W, C)`, or any that `predict` takes, repeated to fill a batch; by default seeded pixels,
            or tokens that all tables of embeddings have, since values matter little.
        seed: seed of the pixels and of the shuffled order.

    Returns:
        A row per batch size and model: `batch`, `model`, `latency_ms` (the median over rounds, for the whole batch),
        `q25_ms` and `q75_ms` (quartiles), `least_ms` (the fastest round, least disturbed by other processes), `ratio`
        (the median over rounds of the ratio to the first model), `ratio_q25` and `ratio_q75`, `repeats`, `threads`. NaN
        for a flatbuffer that runs on batches of another size only.

    Raises:
        InputError: LiteRT cannot run a model, the images do not fit, or a setting is out of range.

    >>> import keras
    >>> models = {str(n): keras.Sequential([keras.Input((64,)), keras.layers.Dense(n)]) for n in (32, 4096)}
    >>> table = latencies(models, batches=[8], repeats=3)
    >>> table["model"].tolist(), bool(table["ratio"][1] > 1)
    (['32', '4096'], True)
    """
    require(len(models) > 0, "models", dict(models), "one model or more")
    for argument, value in (
        ("repeats", repeats),
        ("threads", threads),
        *(("batches", batch) for batch in batches),
    ):
        require_whole(argument, value, 1)
    images = without_lists(images)
    if images is not None and not all(
        isinstance(array, np.ndarray) and len(array) for array in arrays_of(images)
    ):
        got = "no images" if isinstance(images, np.ndarray) else type(images).__name__
        raise InputError("images", got, "an array (N, H, W, C) of one image or more")
    require(len(batches) > 0, "batches", batches, "one batch size or more")
    contents = {name: as_flatbuffer(model, images) for name, model in models.items()}
    tables = []
    for batch in batches:
        draws = np.random.default_rng(seed)
        runs = [_ready(content, batch, threads, images, draws) for content in contents.values()]
        times = pd.DataFrame(_times(runs, repeats, draws) * 1e3, columns=list(contents))
        tables.append(_table(times).assign(batch=batch, repeats=repeats, threads=threads))
    return pd.concat(tables, ignore_index=True)[list(COLUMNS)]


def _ready(
    content: bytes, batch: int, threads: int, images: Inputs | None, draws: Generator
) -> Callable[[], None] | None:
    network = Flatbuffer(content, threads=threads)
    if network.batch not in (None, batch):
        return None
    if images is None:
        images = {source.name: _drawn(source, draws, batch, content) for source in network.inputs}
    filled = mapped(lambda array: np.resize(array, (batch, *array.shape[1:])), images)
    try:
        return network.run(filled)
    except CannotRunError:
        if batch == 1:
            raise
        return None


def _drawn(source: Input, draws: Generator, batch: int, content: bytes) -> np.ndarray:
    """Return pixels for a float input, and otherwise tokens that all tables of embeddings have."""
    if source.dtype is not None and source.dtype.kind == "f":
        return draws.integers(0, 256, (batch, *source.example_shape), "uint8")
    return source.drawn(draws, batch, levels=table_rows(content))


def _times(runs: Sequence[Callable[[], None] | None], repeats: int, draws: Generator) -> np.ndarray:
    """Return seconds `(repeats, models)`, NaN for models that cannot run."""
    times = np.full((repeats, len(runs)), np.nan)
    timers = [run and timeit.Timer(run) for run in runs]  # a Timer switches garbage collection off
    calls = [0 if timer is None else _calls(timer) for timer in timers]
    for turn in range(repeats):
        for position in draws.permutation(len(runs)):
            if timer := timers[position]:
                timer.timeit(1)
                times[turn, position] = timer.timeit(calls[position]) / calls[position]
    return times


def _calls(timer: timeit.Timer) -> int:
    timer.timeit(3)  # the first calls pack weights and touch memory
    return int(np.ceil(SAMPLE_SECONDS / max(timer.timeit(1), 1e-6)))


def _table(times: pd.DataFrame) -> pd.DataFrame:
    """Return a row per model, given milliseconds by round (rows) and model (columns)."""
    ratios = times.div(times.iloc[:, 0], axis=0)
    columns = {
        "latency_ms": times.median(),
        "q25_ms": times.quantile(0.25),
        "q75_ms": times.quantile(0.75),
        "least_ms": times.min(),
        "ratio": ratios.median(),
        "ratio_q25": ratios.quantile(0.25),
        "ratio_q75": ratios.quantile(0.75),
    }
    return pd.DataFrame(columns).rename_axis("model").reset_index()
