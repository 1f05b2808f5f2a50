"""Audits of models in one call: their predictions on data, their comparison and their gate."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfaudit.audits.classes.classes import MARGIN_PP
from tfaudit.audits.gate.gate import Verdict, gate
from tfaudit.audits.gate.limits import DEFAULT_LIMITS, Limits
from tfaudit.audits.model_pair.model_pair import PairComparison, compare
from tfaudit.compress.keras_archive import weight_bytes
from tfaudit.compress.litert.inference import forward_of, predict
from tfaudit.compress.litert.latency import limited_latency
from tfaudit.compress.model_files import errors_naming
from tfaudit.compress.model_inputs import by_names_of
from tfaudit.datasets.examples import as_dataset, tell_unused_weights
from tfaudit.errors import InputError, listed, require, require_type
from tfaudit.predictions import Predictions
from tfaudit.stats.ranking import RankedClasses

if TYPE_CHECKING:
    from typing import TypeAlias

    import keras

    Model: TypeAlias = keras.Model | bytes | str | Path

RANKS = 5


def predictions_of(
    models: Mapping[str, Model],
    data: Any,
    *,
    output: str | Sequence[str] | Mapping[str, str] | None = None,
    signature: str | None = None,
    batch_size: int = 256,
    scores_are: str = "auto",
    class_names: Sequence[str] | None = None,
    threads: int = 1,
    check_range: bool = True,
) -> dict[str, Predictions]:
    """Predict with several models on the same data.

    Args:
        models: Keras 3 models, bytes of flatbuffers, or paths of either, by name.
        data: `(x, y)`, a `tf.data.Dataset` of these, `tfaudit.Examples` or a `tfaudit` data set; x is an array, or a
            dictionary, tuple or list of arrays, and y integers `(N,)` or one-hot `(N, C)`. A tuple has the order of the
            first model's inputs; models that share names with it take them by name.
        output: name of the output to use if models have several, as in `tfaudit.predict`; or a name for each side, as
            in `outputs_of`.
        signature: name of the signature to run if flatbuffers have several, as in `tfaudit.predict`.
        batch_size: examples per step.
        scores_are: "probabilities" or "logits"; "auto" finds out, as in `tfaudit.predict`.
        class_names: names of the C classes; the data's class names by default.
        threads: number of LiteRT threads.
        check_range: whether to refuse images in another range than an integer model was calibrated with.

    Raises:
        InputError: the data or a model cannot be used, or the models have different numbers of classes.

    >>> import keras, numpy as np
    >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Softmax()])
    >>> predictions_of({"same": model}, (np.eye(2), [0, 0]))["same"].accuracy()
    array([0.5])
    """
    require(
        isinstance(models, Mapping) and len(models) > 0,
        "models",
        type(models).__name__,
        "models by name",
    )
    examples = as_dataset(data, "data", "test")
    tell_unused_weights(examples, "data")
    inputs = examples.held if examples.in_memory else examples
    names = tuple(class_names or examples.class_names)
    outputs = dict(zip(models, outputs_of(output, list(models)), strict=True))

    def opened(name: str) -> Any:
        with errors_naming(name):
            return forward_of(models[name], threads, outputs[name], signature)

    baseline = opened(next(iter(models)))

    def predicted(name: str, inputs: Any, k: int, *, check_range: bool) -> RankedClasses:
        forward = opened(name)
        with errors_naming(name):
            return predict(
                forward,
                by_names_of(inputs, baseline, forward),
                k=k,
                batch_size=batch_size,
                scores_are=scores_are,
                check_range=check_range,
            )

    first = examples.head(1)
    widths = {
        name: predicted(name, first, 2**30, check_range=False).classes.shape[1] for name in models
    }
    counts = set(widths.values()) | ({len(names)} if names else set())
    if len(counts) > 1:
        got = ", ".join(f"{width} of {name!r}" for name, width in widths.items())
        raise InputError(
            "models", f"numbers of classes {got}", f"{len(names or ()) or 'the same'} for all"
        )
    [classes] = counts
    expected = f"labels 0 to {classes - 1}, the models' classes"
    largest = int(examples.labels.max())
    require(largest < classes, "data", largest, expected)
    examples = dataclasses.replace(examples, class_names=names or tuple(map(str, range(classes))))
    return {
        name: Predictions.on(examples, predicted(name, inputs, RANKS, check_range=check_range))
        for name in models
    }


def compare_models(
    baseline: Model,
    compressed: Mapping[str, Model],
    data: Any,
    *,
    alpha: float = 0.05,
    margin_pp: float = MARGIN_PP,
    **options: Any,
) -> dict[str, PairComparison]:
    """Compare a model with compressed ones on the same data, as `tfaudit.compare` does; return comparisons by name.

    Args:
        baseline: the uncompressed model: a Keras 3 model, the bytes of a flatbuffer, or the path of either.
        compressed: the compressed models by name.
        data: `(x, y)`, a `tf.data.Dataset` or a data set, as in `predictions_of`.
        alpha: significance level: a class is significant if p <= alpha; intervals have level 1 - alpha.
        margin_pp: margin in percentage points; a change whose interval lies within it counts as none.
        **options: `output`, `signature`, `batch_size`, `scores_are` and `class_names`, as in `predictions_of`. If a
            file and its Keras model name one of several outputs otherwise: `output=("logits", "output_0")`, the
            baseline's name and that of all others, or `output={"baseline": "logits", "int8": "output_0"}`.

    Raises:
        InputError: `predictions_of` or `tfaudit.compare` refuses an argument.

    >>> import keras, numpy as np
    >>> from tfaudit import quantize
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4, kernel_initializer="identity")])
    >>> x, y = np.eye(4, dtype="float32"), np.arange(4)
    >>> pairs = compare_models(model, {"float16": quantize(model, "float16")}, (x, y))
    >>> pairs["float16"].overall.agreement
    1.0
    """
    before, after = _both(baseline, compressed, data, options)
    return {
        name: compare(before, own, alpha=alpha, margin_pp=margin_pp) for name, own in after.items()
    }


def gate_models(
    baseline: Model,
    compressed: Mapping[str, Model],
    data: Any,
    limits: Limits = DEFAULT_LIMITS,
    *,
    alpha: float = 0.05,
    looks: int = 1,
    look: int | None = None,
    **options: Any,
) -> dict[str, Verdict]:
    """Check compressed models against limits on the same data, as `tfaudit.gate` does; return verdicts by name.

    Sizes are known for files and flatbuffers only. `looks` and `look` are those of `tfaudit.gate`, other arguments and
    errors those of `compare_models`.

    >>> import keras, numpy as np
    >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2, kernel_initializer="identity")])
    >>> x = np.random.default_rng(0).normal(size=(400, 2))
    >>> gate_models(model, {"same": model}, (x, x.argmax(1)))["same"].outcome
    'pass'
    """
    require_type("tfaudit.Limits", Limits, limits=limits)
    before, after = _both(baseline, compressed, data, options)
    size = _size(baseline)
    verdicts = {}
    for name, own in after.items():
        own_size = _size(compressed[name])
        sizes = None if size is None or own_size is None else (size, own_size)
        content: Any = None if own_size is None else compressed[name]
        verdicts[name] = gate(
            before,
            own,
            limits,
            alpha=alpha,
            looks=looks,
            look=look,
            sizes=sizes,
            latency_ms=limited_latency(content, limits, options.get("signature")),
        )
    return verdicts


def outputs_of(
    output: str | Sequence[str] | Mapping[str, str] | None, models: Sequence[str]
) -> list[str | None]:
    """Return the name of each model's output.

    Args:
        output: a name for all models; the names of the first and of all others, or of each; or names by model.
        models: names of the models.

    Raises:
        InputError: another number of names, or an unknown model.

    >>> outputs_of(["logits", "output_0"], ["baseline", "int8", "float16"])
    ['logits', 'output_0', 'output_0']
    """
    if output is None or isinstance(output, str):
        return [output] * len(models)
    if isinstance(output, Mapping):
        if unknown := [name for name in output if name not in models]:
            raise InputError("output", f"a name for {listed(unknown)}", f"one of {listed(models)}")
        return [output.get(name) for name in models]
    names: list[str | None] = [*output]
    if len(names) in (1, 2) and len(names) <= len(models):
        names += names[-1:] * (len(models) - len(names))
    if len(names) != len(models):
        several = f"1 for all, 2 for the first and all others, or {len(models)}, one for each"
        expected = several if len(models) > 1 else "one"
        raise InputError("output", f"{len(names)} names", expected)
    return names


def _both(
    baseline: Model, compressed: Mapping[str, Model], data: Any, options: Mapping[str, Any]
) -> tuple[Predictions, dict[str, Predictions]]:
    by_name = 'models by name, such as {"int8": flatbuffer}'
    require_type(by_name, Mapping, compressed=compressed)
    if not compressed:
        raise InputError("compressed", "none", by_name)
    expected = "a name other than the baseline's"
    require("baseline" not in compressed, "compressed", "baseline", expected)
    made = predictions_of({"baseline": baseline, **compressed}, data, **options)
    return made.pop("baseline"), made


def _size(model: Any) -> float | None:
    if isinstance(model, bytes | bytearray | memoryview):
        return float(len(model))
    return float(weight_bytes(Path(model))[0]) if isinstance(model, str | Path) else None
