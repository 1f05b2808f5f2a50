"""Candidates of the search: every kind of quantization, for the unpruned model and for pruned ones."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterable, Sequence

import keras
import numpy as np
import pandas as pd

from tfaudit.compress.last_layers import last_layers
from tfaudit.compress.pruning.channels import AXES
from tfaudit.compress.pruning.kernels import find_kernels, kernel_layers, owners
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.errors import InputError, plural
from tfaudit.extensions import PUBLIC_NAMES
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

FLOAT_LAYERS, FLOAT_LAYERS_PERCENTILE = (1, 3), 99.999
"""Numbers of layers in float, the most sensitive ones, and the percentile at which the others' ranges end."""

INT4, MIXED = "int4", (4.25, 4.5, 5.0, 6.0)
"""Kind whose layers may have wider types, and mean bits per weight of such files; 8 would be those of int8."""


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
        float_layers: number of layers that stay in float, those that int8 harms most.
        last: whether the last layer stays in float.
        bits: mean bits of a weight of an int4 file, some of whose layers have wider types; 0 if none has.
        quantization_aware: whether the model is trained for int8 first.
        per_tensor: whether int8 kernels have one scale each.
        estimate: expected size of the file in bytes; a candidate is not tried if this exceeds a file that passes.
    """

    kind: str
    pruned: Pruned | None = None
    sparse: bool = False
    percentile: float = 100.0
    float_layers: int = 0
    last: bool = False
    bits: float = 0.0
    quantization_aware: bool = False
    per_tensor: bool = False
    estimate: float = dataclasses.field(default=np.nan, compare=False)

    @property
    def key(self) -> str:
        """Name of the candidate's files.

        Example:
            >>> Candidate("int8").key, Candidate("float16", Pruned(0.9, treatment="finetune"), sparse=True).key
            ('int8', 'weight-0.9-float16-sparse')
            >>> Candidate("int8", percentile=99.99).key, Candidate("int8", float_layers=2).key
            ('int8-percentile=99.99', 'int8-float=2')
            >>> Candidate("int8", per_tensor=True).key
            'int8-per_tensor'
        """
        percentile = f"percentile={self.percentile:g}" if self.percentile < 100 else ""
        float_layers = (
            f"float={LAST if self.last else self.float_layers}"
            if self.last or self.float_layers
            else ""
        )
        parts = (
            self.preparation.key,
            self.kind,
            "per_tensor" if self.per_tensor else "",
            "sparse" if self.sparse else "",
            percentile,
            float_layers,
            f"bits={self.bits:g}" if self.bits else "",
        )
        return "-".join(filter(None, parts))

    @property
    def title(self) -> str:
        """Readable name.

        Example:
            >>> Candidate("int8", Pruned(0.5, "l1", granularity="channel", axis=-1, treatment="finetune")).title
            'int8, 50 % fewer channels'
            >>> Candidate("int8", percentile=99.99).title, Candidate("int8", float_layers=2).title
            ('int8, percentile 99.99', 'int8, 2 layers in float')
            >>> Candidate("int8", last=True).title
            'int8, last layer in float'
            >>> Candidate("int8", per_tensor=True).title
            'int8, one scale per kernel'
        """
        parts = [f"{self.kind} without zeros" if self.sparse else self.kind]
        if self.per_tensor:
            parts.append("one scale per kernel")
        if self.bits:
            parts.append(f"{self.bits:g} bits a weight")
        if self.last:
            parts.append("last layer in float")
        if self.float_layers:
            parts.append(f"{plural(self.float_layers, 'layer')} in float")
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
        """Whether it varies a plain candidate: percentile ranges, layers in float or wider, or training for int8."""
        return (
            self.percentile < 100
            or max(self.float_layers, self.bits) > 0
            or self.last
            or self.quantization_aware
        )

    @property
    def is_full_integer(self) -> bool:
        """Whether all its layers compute in int8."""
        return self.kind == INT8 and not self.float_layers and not self.last

    @property
    def is_plain(self) -> bool:
        """Whether it is the unchanged model in a kind that is fast to test, without int8 choices."""
        unchanged = self.pruned is None and not self.is_choice
        return unchanged and not KINDS[self.kind].slow

    @property
    def control(self) -> Candidate | None:
        """The same candidate without remedies and int8 choices, which is tried first; None if it has neither."""
        pruned = None if self.pruned is None else self.pruned.control
        plain = dataclasses.replace(
            self,
            pruned=pruned,
            percentile=100.0,
            float_layers=0,
            last=False,
            bits=0.0,
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

    The plain files of the unpruned model come first, from the largest, which loses least, to the smallest. Kinds that
    are slow to test come last at each pruning level, since a smaller file may pass before them.

    Candidates with training start with the least pruning, which is most likely to pass, so that a search that ends
    early has found something. It also knows when to stop: once a model fails, models pruned further fail too.

    Pruned models are fine-tuned without a remedy, and with each remedy of `tfaudit.study.remedies.REMEDIES`. The
    unpruned model and models without some channels have further int8 candidates: the last layer in float, so that
    scores do not tie; ranges that end at percentiles; and training for int8. The unpruned model also has candidates
    with other layers in float, and int4 candidates with layers in int8 or float16.

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
    """Return the int8 and int4 variations that need no training; none for other kinds."""
    if control.kind == INT4 and layers > 1:
        whole = control.estimate / bytes_per_weight(INT4)
        return [
            dataclasses.replace(control, bits=bits, estimate=whole * bits / 8) for bits in MIXED
        ]
    if control.kind != INT8:
        return []
    made = [dataclasses.replace(control, last=True)] if last else []
    made += [dataclasses.replace(control, percentile=percentile) for percentile in PERCENTILES]
    measurable = "quantization_sensitivity" in PUBLIC_NAMES
    float_layers = [count for count in FLOAT_LAYERS if count < layers and measurable]
    return made + [
        dataclasses.replace(
            control,
            percentile=FLOAT_LAYERS_PERCENTILE,
            float_layers=count,
            estimate=(1 + count / 100) * control.estimate,
        )
        for count in float_layers
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


def _gentlest(candidate: Candidate) -> tuple[float, str, bool, bool, float]:
    """Return the sort key for the order of trials: least pruning, large plain files, fast tests, small files."""
    pruned = candidate.pruned
    level, granularity = (float(pruned.level), pruned.granularity) if pruned else (0.0, "")
    size = -candidate.estimate if candidate.is_plain else candidate.estimate
    return level, granularity, not candidate.is_plain, KINDS[candidate.kind].slow, size


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
    depthwise = {
        layer.name
        for layer in owners(model, kernels).values()
        if "depthwise" in type(layer).__name__.lower()
    }
    names = [name for name in kernel_layers(model) if name not in depthwise]
    shrink = PUBLIC_NAMES.get("shrink")
    if not names or shrink is None:
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
