"""Candidates of the search: every kind of quantization, of the model as it is and of pruned ones."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Sequence

import keras
import numpy as np
import pandas as pd

from tfaudit.compress.last_layers import last_layers
from tfaudit.compress.pruning.channels import AXES
from tfaudit.compress.pruning.kernels import find_kernels, kernel_layers, owners
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.compress.shrinking.shrink import shrink
from tfaudit.errors import InputError, plural
from tfaudit.study.quantization import KINDS, LAST
from tfaudit.study.remedies import REMEDIES, in_words
from tfaudit.study.variants import Pruned

LEVELS = {"channel": (0.9, 0.8, 0.65, 0.5, 0.35, 0.2), "weight": (0.95, 0.9, 0.8, 0.65, 0.5)}
"""Shares of the channels, or of the weights, that pruning takes away, by granularity."""

METHODS = {"channel": "l1", "weight": "magnitude"}
"""Score by granularity: those that need no data."""

TRIAL = 0.5
"""Share of the channels by which it is tried which layers can lose theirs."""

INDEX_BYTES = 1.0
"""About what the position of a weight takes in a kernel that is stored without its zeros."""

INT8 = "int8"
"""Kind that has choices: ranges, layers in float, training for it."""

PERCENTILES = (99.999, 99.99)
"""Percentiles at which ranges of int8 end where those of all values lose too much."""

SPARED, SPARED_PERCENTILE = (1, 3), 99.999
"""Numbers of layers in float, those that cost int8 most, and the percentile at which ranges of the others end."""


@dataclasses.dataclass(frozen=True)
class Preparation:
    """What is done to a model before it is converted.

    Attributes:
        pruned: how it is pruned and fine-tuned; None if it is not.
        aware: whether it is trained for int8 then.
    """

    pruned: Pruned | None = None
    aware: bool = False

    @property
    def key(self) -> str:
        """Name of the files of such a model; empty for the model as it is.

        Example:
            >>> Preparation(Pruned(0.9, treatment="finetune"), aware=True).key
            'weight-0.9-aware'
        """
        if self.pruned is None:
            return "aware" if self.aware else ""
        parts = (
            self.pruned.granularity,
            f"{self.pruned.level:g}",
            *(remedy.key for remedy in self.pruned.remedies),
        )
        return re.sub(
            r"[^A-Za-z0-9._=+-]+", "-", "-".join((*parts, "aware") if self.aware else parts)
        )


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A file that may be the smallest that passes.

    Attributes:
        kind: name of `tfaudit.study.quantization.KINDS`.
        pruned: how the model is pruned and fine-tuned first; None for the model as it is.
        sparse: whether pruned kernels are stored without their zeros.
        percentile: at which ranges end, as in `quantize`.
        spared: number of layers in float, those that cost int8 most.
        last: whether the last layer stays in float.
        aware: whether the model is trained for int8 first.
        estimate: bytes that the file is expected to have; one that is expected to be larger than one that passes is not
            tried.
    """

    kind: str
    pruned: Pruned | None = None
    sparse: bool = False
    percentile: float = 100.0
    spared: int = 0
    last: bool = False
    aware: bool = False
    estimate: float = dataclasses.field(default=np.nan, compare=False)

    @property
    def key(self) -> str:
        """Name of its files.

        Example:
            >>> Candidate("int8").key, Candidate("float16", Pruned(0.9, treatment="finetune"), sparse=True).key
            ('int8', 'weight-0.9-float16-sparse')
            >>> [Candidate("int8", **choice).key for choice in ({"percentile": 99.99}, {"spared": 2}, {"last": True})]
            ['int8-percentile=99.99', 'int8-float=2', 'int8-float=last']
        """
        percentile = f"percentile={self.percentile:g}" if self.percentile < 100 else ""
        spared = f"float={LAST if self.last else self.spared}" if self.last or self.spared else ""
        parts = (
            self.preparation.key,
            self.kind,
            "sparse" if self.sparse else "",
            percentile,
            spared,
        )
        return "-".join(filter(None, parts))

    @property
    def title(self) -> str:
        """Readable name.

        Example:
            >>> Candidate("int8", Pruned(0.5, "l1", granularity="channel", axis=-1, treatment="finetune")).title
            'int8, 50 % fewer channels'
            >>> Candidate("int8", percentile=99.99).title, Candidate("int8", spared=2).title
            ('int8, percentile 99.99', 'int8, 2 layers in float')
            >>> Candidate("int8", last=True).title
            'int8, last layer in float'
        """
        parts = [f"{self.kind} without zeros" if self.sparse else self.kind]
        if self.last:
            parts.append("last layer in float")
        if self.spared:
            parts.append(f"{plural(self.spared, 'layer')} in float")
        elif self.percentile < 100:
            parts.append(f"percentile {self.percentile:g}")
        if self.aware:
            parts.append("quantization-aware")
        if self.pruned is not None:
            share = f"{100 * self.pruned.level:.3g} %"
            parts.append(
                f"{share} fewer channels"
                if self.pruned.granularity == "channel"
                else f"{share} sparse"
            )
            if self.pruned.remedies:
                parts.append(in_words(self.pruned.remedies))
        return ", ".join(parts)

    @property
    def preparation(self) -> Preparation:
        """What is done to the model before it is converted."""
        return Preparation(self.pruned, self.aware)

    @property
    def is_choice(self) -> bool:
        """Whether it is another int8 file of a model whose plain int8 file is a candidate too."""
        return self.percentile < 100 or self.spared > 0 or self.last or self.aware

    @property
    def control(self) -> Candidate | None:
        """The same candidate without remedies and choices, which is tried first; None if it has none."""
        pruned = None if self.pruned is None else self.pruned.control
        plain = dataclasses.replace(
            self, pruned=pruned, percentile=100.0, spared=0, last=False, aware=False
        )
        return None if plain == self else plain


def bytes_per_weight(kind: str) -> float:
    """Return what a weight takes in a kind of flatbuffer, by its settings in `KINDS`.

    Example:
        >>> [bytes_per_weight(kind) for kind in ("float32", "float16", "dynamic_range", "int8")]
        [4.0, 2.0, 1.0, 1.0]
    """
    settings = KINDS[kind]
    if not settings.optimized:
        return 4.0
    return float(np.dtype(settings.types[0]).itemsize) if settings.types else 1.0


def candidates(load: Callable[[], keras.Model], *, training: bool) -> tuple[Candidate, ...]:
    """Return the candidates: first those that need no training, from small to large, then those that do.

    A kind that is slow to test comes last of every share that is pruned: what passes before may be smaller.

    These start with what is pruned least, which is most likely to pass, so that a search that ends early has found
    something, and knows when to stop: what is pruned more than a model that fails fails too.

    What is pruned is fine-tuned plainly, and with every remedy of `tfaudit.study.remedies.REMEDIES`. The model as it
    is, and what has lost channels, also has an int8 file whose last layer is in float, so that scores do not tie, some
    whose ranges end at percentiles, and one after training for int8; the model as it is also some with other layers in
    float.

    Channels are removed from the layers that can lose them one by one, as `removable_layers` finds by trial. Sparse
    kernels make a file smaller only if they are stored without their zeros, which LiteRT runs for kernels of floats.

    Args:
        load: returns the model, a new copy at every call.
        training: whether there are training data.
    """
    model = load()
    size = float(model.count_params())
    layers = len(kernel_layers(model))
    last = layers > 1 and _has_last_layers(model)
    plain = _of_kinds(size)
    plain += [choice for one in plain for choice in _choices(one, layers, last=last)]
    trained = _trained(load(), size) if training else ()
    return (*sorted(plain, key=_gentlest), *sorted(trained, key=_gentlest))


def _of_kinds(parameters: float, pruned: Pruned | None = None) -> list[Candidate]:
    """Return the candidates of all kinds of a model that has so many parameters."""
    return [Candidate(kind, pruned, estimate=parameters * bytes_per_weight(kind)) for kind in KINDS]


def _has_last_layers(model: keras.Model) -> bool:
    try:
        return bool(last_layers(model))
    except InputError:  # a subclassed model
        return False


def _choices(control: Candidate, layers: int = 0, *, last: bool) -> list[Candidate]:
    """Return the int8 candidates beside plain int8 that need no training; none for other kinds."""
    if control.kind != INT8:
        return []
    made = [dataclasses.replace(control, last=True)] if last else []
    made += [dataclasses.replace(control, percentile=percentile) for percentile in PERCENTILES]
    spared = [count for count in SPARED if count < layers]
    return made + [
        dataclasses.replace(
            control,
            percentile=SPARED_PERCENTILE,
            spared=count,
            estimate=(1 + count / 100) * control.estimate,
        )
        for count in spared
    ]


def _trained(model: keras.Model, size: float) -> list[Candidate]:
    made = [dataclasses.replace(one, aware=True) for one in _of_kinds(size) if one.kind == INT8]
    layers = removable_layers(model)
    for level in LEVELS["channel"] if layers.names else ():
        left = layers.left(level)
        control = channel_pruning(level, layers.names)
        for pruned in with_remedies(control):
            made += _of_kinds(left, pruned)
        for one in _of_kinds(left, control):
            if one.kind == INT8:
                made += [*_choices(one, last=True), dataclasses.replace(one, aware=True)]
    for level in LEVELS["weight"]:
        weights = with_remedies(Pruned(level, METHODS["weight"], treatment="finetune"))
        for pruned, kind in itertools.product(weights, KINDS):
            whole = bytes_per_weight(kind)
            estimate = size * (1 - level) * (whole + INDEX_BYTES)
            if whole > 1 and estimate < size * whole:
                made.append(Candidate(kind, pruned, sparse=True, estimate=estimate))
    return made


def with_remedies(pruned: Pruned) -> list[Pruned]:
    """Return a pruning without a remedy, then with each one of the table."""
    return [pruned, *(dataclasses.replace(pruned, remedy=name) for name in REMEDIES)]


def _gentlest(candidate: Candidate) -> tuple[float, str, bool, float]:
    """Return the order of trying: what loses least, of that what is tested quickly, of that what is small."""
    pruned = candidate.pruned
    level, granularity = (float(pruned.level), pruned.granularity) if pruned else (0.0, "")
    return level, granularity, KINDS[candidate.kind].slow, candidate.estimate


def channel_pruning(level: float, layers: Sequence[str]) -> Pruned:
    """Return the pruning of a share of the output channels of some layers, followed by fine-tuning."""
    return Pruned(
        level,
        METHODS["channel"],
        granularity="channel",
        axis=AXES[-1],
        treatment="finetune",
        layers=tuple(layers),
    )


@dataclasses.dataclass(frozen=True)
class RemovableLayers:
    """Names of the layers that become smaller when their channels are pruned, and parameters of all layers.

    `table` is that of a model that was shrunk after losing `TRIAL` of the channels; see `tfaudit.compress.Shrunk`.
    """

    names: tuple[str, ...] = ()
    table: pd.DataFrame = dataclasses.field(default_factory=pd.DataFrame)

    def left(self, level: float) -> float:
        """Return about how many parameters are left without a share of the channels.

        A layer that kept half of its parameters in the trial loses output or input channels, one that kept a quarter
        both: its parameters are a power of the share that stays.
        """
        before = self.table["parameters_before"].to_numpy(float)
        after = self.table["parameters_after"].to_numpy(float).clip(1)
        with np.errstate(divide="ignore", invalid="ignore"):
            power = np.where(before > 0, np.log(after / before) / np.log(1 - TRIAL), 0.0)
        return float((before * (1 - level) ** power).sum())


def removable_layers(model: keras.Model) -> RemovableLayers:
    """Return which layers can lose channels one by one, by trial, in place; none of a model that cannot be shrunk.

    Not among them are the model's output, and layers whose channels are joined with others, as by a residual Add.
    """
    kernels = find_kernels(model)
    depthwise = {
        layer.name
        for layer in owners(model, kernels).values()
        if "depthwise" in type(layer).__name__.lower()
    }
    names = [name for name in kernel_layers(model) if name not in depthwise]
    if not names:
        return RemovableLayers()
    pruned = channel_pruning(TRIAL, names)
    prune(
        model,
        TRIAL,
        layers=names,
        method=pruned.method,
        granularity=pruned.granularity,
        axis=pruned.axis,
    )
    try:
        table = shrink(model).frame()
    except InputError:  # a subclassed model, or layers that cannot be copied
        return RemovableLayers()
    removed = table["channels_before"] - table["channels_after"]
    carried = 1  # a channel may stay, to carry the constants of the others through zero padding
    whole = removed >= (np.floor(TRIAL * table["channels_before"]) - carried).clip(1)
    smaller = {layer.rpartition("/")[2] for layer in table.loc[whole, "layer"]}
    return RemovableLayers(tuple(name for name in names if name in smaller), table)
