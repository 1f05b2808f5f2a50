"""Candidates of the search: every kind of quantization, for the unpruned model and for pruned ones."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import keras
import numpy as np
import pandas as pd

from tfaudit.compress.last_layers import last_layers
from tfaudit.compress.layer_kinds import DEPTHWISE
from tfaudit.compress.pruning.channels import AXES, channel_axes
from tfaudit.compress.pruning.kernels import find_kernels, kernel_layers, owners
from tfaudit.errors import InputError
from tfaudit.extensions import PUBLIC_NAMES, Registry
from tfaudit.study.quantization import KINDS, LAST
from tfaudit.study.remedies import REMEDIES, in_words
from tfaudit.study.variants import Pruned

LEVELS = {"channel": (0.9, 0.8, 0.65, 0.5, 0.35, 0.2), "weight": (0.95, 0.9, 0.8, 0.65, 0.5)}
"""Shares of channels or weights that pruning removes, by granularity."""

METHODS = {"channel": "l1", "weight": "magnitude"}
"""Scoring method by granularity; none of them needs data."""

TRIAL = 0.5
"""Share of channels that the trial removes to find which layers can lose channels."""

INDEX_BYTES = 1.0
"""Approximate bytes per stored weight for its position in a sparse kernel."""

INT8 = "int8"
"""Kind that has choices: ranges, layers in float, quantization-aware training."""

PERCENTILES = (99.999, 99.99)
"""Percentiles at which int8 ranges end if ranges of all values lose too much."""

LAYER_CHOICES = Registry("candidates", {})
"""Classes of files whose layers have several types, which extensions declare."""


@dataclasses.dataclass(frozen=True)
class Preparation:
    """Steps that prepare a model for conversion.

    Attributes:
        pruned: how the model is pruned and fine-tuned; None if it is not pruned.
        quantization_aware: whether the model is then trained for int8.
    """

    pruned: Pruned | None = None
    quantization_aware: bool = False

    @property
    def key(self) -> str:
        """Name of the prepared model's files; empty for the unchanged model.

        Example:
            >>> Preparation(Pruned(0.9, treatment="finetune"), quantization_aware=True).key
            'weight-0.9-aware'
        """
        if self.pruned is None:
            return "aware" if self.quantization_aware else ""
        parts = (
            self.pruned.granularity,
            f"{self.pruned.level:g}",
            *(remedy.key for remedy in self.pruned.remedies),
        )
        return re.sub(
            r"[^A-Za-z0-9._=+-]+",
            "-",
            "-".join((*parts, "aware") if self.quantization_aware else parts),
        )


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A file that may be the smallest one that passes.

    Attributes:
        kind: kind of quantization, a name of `tfaudit.study.quantization.KINDS`.
        pruned: how the model is pruned and fine-tuned first; None if it is not pruned.
        sparse: whether pruned kernels are stored without their zeros.
        percentile: percentile at which int8 ranges end, 100 for the full range; see `quantize`.
        layers: which layers have other types by what they cost, an instance of one of `LAYER_CHOICES`; None if none.
        last: whether the last layer stays in float.
        quantization_aware: whether the model is trained for int8 first.
        per_tensor: whether int8 kernels have one scale each.
        estimate: expected size of the file in bytes; a candidate is not tried if this exceeds a file that passes.
    """

    kind: str
    pruned: Pruned | None = None
    sparse: bool = False
    percentile: float = 100.0
    layers: Any = None
    last: bool = False
    quantization_aware: bool = False
    per_tensor: bool = False
    estimate: float = dataclasses.field(default=np.nan, compare=False)

    @property
    def key(self) -> str:
        """Name of the candidate's files.

        Example:
            >>> Candidate("int8").key, Candidate("float16", Pruned(0.9, treatment="finetune"), sparse=True).key
            ('int8', 'weight-0.9-float16-sparse')
            >>> Candidate("int8", percentile=99.99).key, Candidate("int8", per_tensor=True).key
            ('int8-percentile=99.99', 'int8-per_tensor')
        """
        percentile = f"percentile={self.percentile:g}" if self.percentile < 100 else ""
        parts = (
            self.preparation.key,
            self.kind,
            "per_tensor" if self.per_tensor else "",
            "sparse" if self.sparse else "",
            percentile,
            f"float={LAST}" if self.last else "",
            self.layers.key if self.layers else "",
        )
        return "-".join(filter(None, parts))

    @property
    def title(self) -> str:
        """Readable name.

        Example:
            >>> Candidate("int8", Pruned(0.5, "l1", granularity="channel", axis=-1, treatment="finetune")).title
            'int8, 50 % fewer channels'
            >>> Candidate("int8", percentile=99.99).title, Candidate("int8", last=True).title
            ('int8, percentile 99.99', 'int8, last layer in float')
            >>> Candidate("int8", per_tensor=True).title
            'int8, one scale per kernel'
        """
        parts = [f"{self.kind} without zeros" if self.sparse else self.kind]
        if self.per_tensor:
            parts.append("one scale per kernel")
        if self.last:
            parts.append("last layer in float")
        if self.layers:
            parts.append(self.layers.title)
        elif self.percentile < 100:
            parts.append(f"percentile {self.percentile:g}")
        if self.quantization_aware:
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
        return Preparation(self.pruned, self.quantization_aware)

    @property
    def is_choice(self) -> bool:
        """Whether it varies a plain candidate: percentile ranges, layers of other types, or training for int8."""
        return bool(self.percentile < 100 or self.layers or self.last or self.quantization_aware)

    @property
    def is_full_integer(self) -> bool:
        """Whether all its layers compute in int8."""
        return self.kind == INT8 and not self.layers and not self.last

    @property
    def is_unchanged(self) -> bool:
        """Whether it is the unchanged model in a kind that is fast to test, without int8 choices: no label made it."""
        return self.pruned is None and not self.is_choice and not KINDS[self.kind].slow

    @property
    def is_fallback(self) -> bool:
        """Whether it is an unchanged model in floats, for models of which no smaller file passes."""
        return self.is_unchanged and bytes_per_weight(self.kind) > 1

    @property
    def is_plain(self) -> bool:
        """Whether it is an unchanged model with weights of 8 bits or fewer."""
        return self.is_unchanged and not self.is_fallback

    @property
    def control(self) -> Candidate | None:
        """The same candidate without remedies and int8 choices, which is tried first; None if it has neither."""
        pruned = None if self.pruned is None else self.pruned.control
        plain = dataclasses.replace(
            self,
            pruned=pruned,
            percentile=100.0,
            layers=None,
            last=False,
            quantization_aware=False,
        )
        return None if plain == self else plain


def bytes_per_weight(kind: str) -> float:
    """Return the bytes per weight in a kind of flatbuffer, from its settings in `KINDS`.

    Example:
        >>> [bytes_per_weight(kind) for kind in ("float32", "float16", "dynamic_range", "int8", "int4")]
        [4.0, 2.0, 1.0, 1.0, 0.5]
    """
    settings = KINDS[kind]
    if settings.bits:
        return settings.bits / 8
    if not settings.optimized:
        return 4.0
    return float(np.dtype(settings.types[0]).itemsize) if settings.types else 1.0


def candidates(
    load: Callable[[], keras.Model],
    *,
    training: bool,
    full_integer: bool = False,
    per_tensor: bool = False,
) -> tuple[Candidate, ...]:
    """Return the candidates: first those that need no training, then those that do.

    The plain files of the unpruned model come first, which are quick to make and usually pass. Its files in floats
    follow, the largest first, in case they do not. Kinds that are slow to test come last at each pruning level, since a
    smaller file may pass before them.

    Candidates with training start with the least pruning, which is most likely to pass, so that a search that ends
    early has found something. It also knows when to stop: once a model fails, models pruned further fail too.

    Pruned models are fine-tuned without a remedy, and with each remedy of `tfaudit.study.remedies.REMEDIES`. The
    unpruned model and models without some channels have further int8 candidates: the last layer in float, so that
    scores do not tie; ranges that end at percentiles; and training for int8. The unpruned model also has the candidates
    of `LAYER_CHOICES`.

    Channels are removed from layers that can lose single channels, as `removable_layers` finds by trial. Zeros in
    kernels make a file smaller only if they are not stored; LiteRT runs such sparse kernels in float kinds only.

    Args:
        load: function that returns a copy of the model at every call; without training, which changes it, the model.
        training: whether there is training data.
        full_integer: whether only int8 files without layers in float are wanted.
        per_tensor: whether int8 with one scale per kernel is wanted, too.
    """
    model = load()
    size = float(model.count_params())
    layers = len(kernel_layers(model))
    last = layers > 1 and _has_last_layers(model)
    plain = _of_kinds(size)
    plain += [choice for one in plain for choice in _choices(one, layers, last=last)]
    if per_tensor:
        plain.append(Candidate(INT8, per_tensor=True, estimate=size * bytes_per_weight(INT8)))
    trained = _trained(load(), size) if training else ()
    plan = (*sorted(plain, key=_gentlest), *sorted(trained, key=_gentlest))
    return tuple(one for one in plan if one.is_full_integer or not full_integer)


def _of_kinds(parameters: float, pruned: Pruned | None = None) -> list[Candidate]:
    """Return candidates of all kinds for a model with this number of parameters."""
    return [Candidate(kind, pruned, estimate=parameters * bytes_per_weight(kind)) for kind in KINDS]


def _has_last_layers(model: keras.Model) -> bool:
    try:
        return bool(last_layers(model))
    except InputError:  # a subclassed model
        return False


def _choices(control: Candidate, layers: int = 0, *, last: bool) -> list[Candidate]:
    """Return the variations of a candidate that need no training; none for most kinds."""
    made = []
    if control.kind == INT8:
        made += [dataclasses.replace(control, last=True)] if last else []
        made += [dataclasses.replace(control, percentile=percentile) for percentile in PERCENTILES]
    chosen = [choice for kind in LAYER_CHOICES.values() for choice in kind.of(layers)]
    return made + [
        dataclasses.replace(
            control,
            percentile=choice.percentile,
            layers=choice,
            estimate=choice.size * control.estimate,
        )
        for choice in chosen
        if choice.kind == control.kind
    ]


def _trained(model: keras.Model, size: float) -> list[Candidate]:
    made = _for_int8(_of_kinds(size))
    layers = removable_layers(model)
    for level in LEVELS["channel"] if layers.names else ():
        left = layers.left(level)
        control = channel_pruning(level, layers.names)
        for pruned in with_remedies(control):
            made += _of_kinds(left, pruned)
        for one in _of_kinds(left, control):
            if one.kind == INT8:
                made += [*_choices(one, last=True), *_for_int8([one])]
    for level in LEVELS["weight"]:
        weights = with_remedies(Pruned(level, METHODS["weight"], treatment="finetune"))
        for pruned, kind in itertools.product(weights, KINDS):
            whole = bytes_per_weight(kind)
            estimate = size * (1 - level) * (whole + INDEX_BYTES)
            if whole > 1 and estimate < size * whole:
                made.append(Candidate(kind, pruned, sparse=True, estimate=estimate))
    return made


def _for_int8(several: Iterable[Candidate]) -> list[Candidate]:
    """Return the int8 ones of some candidates, trained for it first; none without the extension that trains them."""
    return [
        dataclasses.replace(candidate, quantization_aware=True)
        for candidate in several
        if candidate.kind == INT8 and "quantization_aware" in PUBLIC_NAMES
    ]


def with_remedies(pruned: Pruned) -> list[Pruned]:
    """Return a pruning without a remedy, then with each remedy in `REMEDIES`."""
    return [pruned, *(dataclasses.replace(pruned, remedy=name) for name in REMEDIES)]


def _gentlest(candidate: Candidate) -> tuple[float, str, bool, bool, bool, float]:
    """Return the sort key: least pruning, plain files, then those in floats, fast tests, small files."""
    pruned = candidate.pruned
    level, granularity = (float(pruned.level), pruned.granularity) if pruned else (0.0, "")
    unchanged = candidate.is_unchanged
    size = -candidate.estimate if unchanged else candidate.estimate
    slow = KINDS[candidate.kind].slow
    return level, granularity, not candidate.is_plain, not unchanged, slow, size


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

    `table` is the `tfaudit.compress.Shrunk` table of a model that was shrunk after losing a share `TRIAL` of channels.
    """

    names: tuple[str, ...] = ()
    table: pd.DataFrame = dataclasses.field(default_factory=pd.DataFrame)

    def left(self, level: float) -> float:
        """Estimate how many parameters are left without a share of the channels.

        A layer that kept half of its parameters in the trial loses output or input channels; a layer that kept a
        quarter loses both. Its parameters are a power of the share that stays.
        """
        before = self.table["parameters_before"].to_numpy(float)
        after = self.table["parameters_after"].to_numpy(float).clip(1)
        with np.errstate(divide="ignore", invalid="ignore"):
            power = np.where(before > 0, np.log(after / before) / np.log(1 - TRIAL), 0.0)
        return float((before * (1 - level) ** power).sum())


def removable_layers(model: keras.Model) -> RemovableLayers:
    """Return the layers that can lose single channels, found by trial, in place; none if the model cannot be shrunk.

    The output layer is excluded, and so are layers whose channels are joined with others, as by a residual Add.
    """
    kernels = find_kernels(model)
    layers = {
        name: layer.name
        for name, layer in owners(model, kernels).items()
        if not isinstance(layer, DEPTHWISE)
    }
    shrink = PUBLIC_NAMES.get("shrink")
    if not layers or shrink is None:
        return RemovableLayers()
    own = {name: kernels[name] for name in layers}
    draws = np.random.default_rng(0)
    for name, axes in channel_axes(model, own, AXES[-1]).items():
        values = keras.ops.convert_to_numpy(own[name]).copy()
        channels = np.moveaxis(values, axes[0], 0)
        channels[draws.permutation(len(channels))[: int(TRIAL * len(channels))]] = 0
        own[name].assign(values)
    try:
        table = shrink(model).frame()
    except InputError:  # a subclassed model, or layers that cannot be copied
        return RemovableLayers()
    removed = table["channels_before"] - table["channels_after"]
    carried = 1  # a channel may stay, to carry the constants of the others through zero padding
    whole = removed >= (np.floor(TRIAL * table["channels_before"]) - carried).clip(1)
    smaller = {layer.rpartition("/")[2] for layer in table.loc[whole, "layer"]}
    names = dict.fromkeys(layers.values())
    return RemovableLayers(tuple(name for name in names if name in smaller), table)
