"""Variants: what a study does to its models."""

import dataclasses
import re
import zlib
from typing import Any, ClassVar, Self

from tfaudit.errors import number, require, require_one_of
from tfaudit.extensions import Registry
from tfaudit.study.quantization import CALIBRATIONS, DRAWN, FLOAT, IO_TYPES, KINDS, LAST
from tfaudit.study.remedies import QUANTIZATION_REMEDIES, in_words, remedies_of
from tfaudit.study.settings import changed_settings, check_least, check_settings, set_fields

TREATMENTS = ("gradual", "one_shot", "finetune", "rewind")

_CHOICES = {
    "scope": ("layer", "global"),
    "treatment": TREATMENTS,
    "granularity": ("weight", "channel"),
    "axis": (-2, -1),
    "gradient": ("loss", "data"),
    "count_biases": (True, False),
    "batch_norm": ("moving", "recalibrated"),
}
"""Settings of pruning that are one of several values."""

TITLE_SETTINGS = (
    "granularity",
    "treatment",
    "scope",
    "axis",
    "begin",
    "end",
    "frequency",
    "layers",
    "unpruned_layers",
    "gradient",
    "decay",
    "count_biases",
    "batch_norm",
    "remedy",
)
"""Settings of pruning that a title names, in this order; a study omits those that all its variants share."""

OF_REMEDY = "remedy."
"""Begins the settings of remedies among those that a title names, such as `remedy.temperature`."""


@dataclasses.dataclass(frozen=True)
class Variant:
    """The compression of a model. Every variant of a study has its own members."""

    family: ClassVar[str]

    @property
    def parent(self) -> str | None:
        """Key of the variant from whose members these are made, number by number; None if trained from scratch."""
        return None

    @property
    def key(self) -> str:
        """Name in paths and tables: stable, short, safe characters only."""
        raise NotImplementedError

    @property
    def title(self) -> str:
        """Readable name."""
        return self.key

    def to_json(self) -> dict[str, Any]:
        """Return family and settings as JSON values."""
        return {"family": self.family, **dataclasses.asdict(self)}


class Remedied(Variant):
    """Variant with a field `remedy`: methods against the losses of compression."""

    @property
    def remedies(self) -> tuple[Any, ...]:
        """The remedies."""
        return self.remedy  # type: ignore[attr-defined, no-any-return]

    @property
    def control(self) -> Self:
        """The same variant without remedies."""
        return dataclasses.replace(self, **{"remedy": ()})

    def to_json(self) -> dict[str, Any]:
        """Return family and settings as JSON values."""
        return {**super().to_json(), "remedy": [remedy.to_json() for remedy in self.remedies]}

    def _key_of_settings(self, *left_out: str) -> str:
        """Return the end of a key: the settings that differ from their defaults, except those left out."""
        return "".join(
            f"-{name}={_text(value)}"
            for name, value in changed_settings(self).items()
            if name not in left_out
        )


def _text(value: object) -> str:
    parts = value if isinstance(value, tuple) else (value,)
    return "+".join(str(getattr(part, "key", part)) for part in parts)


@dataclasses.dataclass(frozen=True)
class Dense(Variant):
    """The uncompressed baseline of every study."""

    family: ClassVar[str] = "dense"

    @property
    def key(self) -> str:
        """Always "dense"."""
        return "dense"


@dataclasses.dataclass(frozen=True)
class Pruned(Remedied):
    """Pruning, either during training or of a trained model.

    Treatments:

    - "gradual": trained from scratch while the sparsity rises, [F] 2.4.
    - "one_shot": a model of `after` is pruned once and not trained further.
    - "finetune": a model of `after` is pruned once, then fine-tuned with the study's `retraining`, [R] 6.
    - "rewind": a model of `after` is pruned once, the remaining weights and all other variables are reset to their
      values at step `rewind_to` of the dense training, then trained with `retraining`: lottery tickets, [P], [R]
      table 12.

    For all treatments but the first, member k is made from member k of the variant `after`. So all methods and ratios
    can start from the same dense members, and `tfaudit.study.rounds` chains rounds of pruning.

    Args:
        sparsity: final share of zeros in the pruned kernels, in (0, 1). Give exactly one of `sparsity` and `ratio`.
        method: a pruning score of `tfaudit.compress.pruning`, which decides which weights or channels to prune first.
        scope: "layer" (each kernel reaches the sparsity) or "global" (weights of all kernels are ranked together).
        begin: share of the steps after which gradual pruning starts.
        end: share of the steps at which gradual pruning reaches the sparsity.
        frequency: steps between two updates of the masks; by default there are about a hundred updates.
        layers: names of the layers to prune; all layers with a kernel by default.
        ratio: number of all parameters over the number of remaining ones, above 1 ([R]).
        count_biases: whether a ratio counts the biases of pruned layers among the remaining parameters. False leaves
            that many more weights, as does ShrinkBench, which [R] uses and which prunes biases with the weights.
        treatment: how members are pruned and trained, one of the treatments above.
        after: key of the variant whose members are pruned, "dense" or an earlier round.
        rewind_to: step of the dense training to rewind to; 0 is the initialisation.
        unpruned_layers: names of layers not to prune, such as `("logits",)`, the classifier ([R], [F]).
        granularity: "weight", or "channel" for whole slices of a kernel.
        axis: axis of a kernel's channels, -2 for inputs ([P]) or -1 for outputs.
        gradient: gradients for methods that use them: of the whole loss, "loss" ([R]'s text), or of its data term,
            "data" ([R]'s code).
        decay: coefficient of the method "undecayed"; the training's weight decay by default.
        remedy: method against the losses of pruning while a "finetune" or "rewind" is trained: "distillation", or
            `tfaudit.study.DistillationRemedy` with settings; none by default. The same variant without a remedy is its
            control.
        batch_norm: statistics of BatchNormalization in a finished member: "moving", the averages that training leaves,
            or "recalibrated", estimated from training inputs afterwards (`tfaudit.recalibrate_batch_norm`).
    """

    sparsity: float | None = None
    method: str = "magnitude"
    scope: str = "layer"
    begin: float = 0.0
    end: float = 0.75
    frequency: int | None = None
    layers: tuple[str, ...] | None = None
    ratio: float | None = None
    treatment: str = "gradual"
    after: str = "dense"
    rewind_to: int = 0
    unpruned_layers: tuple[str, ...] = ()
    granularity: str = "weight"
    axis: int = -2
    gradient: str = "loss"
    decay: float | None = None
    remedy: Any = ()
    count_biases: bool = True
    batch_norm: str = "moving"
    family: ClassVar[str] = "pruning"

    def __post_init__(self) -> None:
        set_fields(
            self,
            layers=None if self.layers is None else tuple(self.layers),
            unpruned_layers=tuple(self.unpruned_layers),
            remedy=remedies_of(self.remedy),
        )
        one = (self.sparsity is None) != (self.ratio is None)
        require(one, "sparsity, ratio", (self.sparsity, self.ratio), "exactly one of the two")
        for name, choices in _CHOICES.items():
            require_one_of(name, getattr(self, name), choices)
        shares = (self.begin, self.end)
        rising = 0 <= number(self.begin) < number(self.end) <= 1
        require(rising, "begin, end", shares, "0 <= begin < end <= 1")
        gradual = self.treatment == "gradual"
        rewound = self.treatment == "rewind"
        check_settings(
            self,
            sparsity=(self.sparsity is None or 0 < number(self.sparsity) < 1, "a share in (0, 1)"),
            ratio=(self.ratio is None or number(self.ratio) > 1, "above 1"),
            count_biases=(
                self.count_biases or self.ratio is not None,
                "True unless a ratio is given",
            ),
            after=(self.after == "dense" or not gradual, "'dense' for gradual pruning"),
            unpruned_layers=(not (self.layers and self.unpruned_layers), "() if layers are given"),
        )
        check_least(self, frequency=1, rewind_to=0, decay=0)
        check_settings(self, rewind_to=(not self.rewind_to or rewound, "0 unless 'rewind'"))
        trained = rewound or self.treatment == "finetune" or not self.remedy
        require(trained, "remedy", _text(self.remedy), "none unless 'finetune' or 'rewind'")

    @property
    def parent(self) -> str | None:
        """Key of the variant whose members are pruned; None if members are trained from scratch."""
        return None if self.treatment == "gradual" else self.after

    def begin_step(self, steps: int) -> int:
        """Return the step of a training of `steps` steps at which gradual pruning begins."""
        return min(round(self.begin * steps), steps - 1)

    def dense_steps(self, steps: int, together: int = 1) -> int:
        """Return how many steps of a training are those of a dense one, if `together` steps are made at once.

        >>> Pruned(0.9, begin=0.5).dense_steps(1000), Pruned(0.9, begin=0.5).dense_steps(1000, together=50)
        (499, 450)
        """
        return max(self.begin_step(steps) - 1, 0) // together * together

    @property
    def level(self) -> float:
        """The sparsity or the ratio, whichever is set."""
        return self.sparsity if self.ratio is None else self.ratio  # type: ignore[return-value]

    @property
    def key(self) -> str:
        """Method, level and settings off their defaults, such as `magnitude-0.9` or `undecayed-r10-scope=global`."""
        level = f"{self.sparsity:g}" if self.ratio is None else f"r{self.ratio:g}"
        left_out = ("method", "sparsity", "ratio", "after")
        return f"{self.method}-{level}{self._key_of_settings(*left_out)}"

    @property
    def title(self) -> str:
        """Method, level and settings, such as `magnitude 90 %` or `undecayed ratio 10 finetune`."""
        return self.title_with(*TITLE_SETTINGS)

    def title_with(self, *settings: str) -> str:
        """Return the method, the level, and the named settings that differ from their defaults."""
        level = (
            f"{100 * self.sparsity:.3g} %" if self.sparsity is not None else f"ratio {self.ratio:g}"
        )
        return self._described([self.method, level], settings)

    def pruning_method(self, *settings: str) -> str:
        """Return the title without the level: the method and the named settings."""
        return self._described([self.method], settings)

    def _described(self, words: list[str], settings: tuple[str, ...]) -> str:
        """Return the words, then the named settings that differ from their defaults."""
        changed = changed_settings(self)
        remedies = changed.pop("remedy", ())
        for name in settings:
            if name not in changed:
                continue
            value = _text(changed[name])
            if name == "count_biases":
                words.append("biases uncounted")
            elif name in ("treatment", "granularity", "batch_norm"):
                words.append(value.replace("_", "-"))
            else:
                words.append(f"{name}={value}")
        text = " ".join(words)
        if not remedies or "remedy" not in settings:
            return text
        of_remedies = [name.removeprefix(OF_REMEDY) for name in settings if OF_REMEDY in name]
        return f"{text}, {in_words(remedies, of_remedies)}"


@dataclasses.dataclass(frozen=True)
class Quantized(Remedied):
    """Quantization with TensorFlow Lite ([F] A); member k is made from member k of another variant.

    Args:
        kind: a name of `tfaudit.study.quantization.KINDS`, such as "float16" or "int8".
        remedy: "quantization_aware" or `tfaudit.study.QuantizationAwareRemedy`, only for "int8" of dense members: a
            copy of the dense member is trained for int8 first, with the study's `retraining`, or else its `training`.
            None by default.
        float_layers: layers that stay in float, for "int8" and "int4": "last" or names, such as `("logits",)`, as in
            `quantize`. "last" is the last layer, whose int8 scores, having 256 levels, often tie. None by default.
        percentile: percentile at which the ranges of values end, only for "int8", as in `quantize`; 100 by default.
        per_channel: whether each channel of a kernel has a scale of its own, only for "int8", as in `quantize`.
        sparse: whether kernels with many zeros are stored without them, as in `quantize`.
        io: type of inputs and outputs, only for "int8": "float32", or "int8" or "uint8" for full-integer files.
        calibration: the 100 training examples that "int8", "int16x8" and "int4" take: "drawn" for examples of every
            class, drawn with the study's seed, or "first" for the first ones, as [F] took them. Those of data sorted by
            class are all of one class.
        after: key of the variant that is quantized, "dense" or an earlier pruned one.
    """

    kind: str
    remedy: Any = ()
    float_layers: str | tuple[str, ...] = ()
    percentile: float = 100.0
    per_channel: bool = True
    sparse: bool = False
    io: str = FLOAT
    calibration: str = DRAWN
    after: str = "dense"
    family: ClassVar[str] = "quantization"

    def __post_init__(self) -> None:
        require_one_of("kind", self.kind, KINDS)
        require_one_of("sparse", self.sparse, (False,) if KINDS[self.kind].bits else (True, False))
        require_one_of("io", self.io, IO_TYPES)
        require_one_of("calibration", self.calibration, CALIBRATIONS)
        set_fields(self, remedy=remedies_of(self.remedy, QUANTIZATION_REMEDIES))
        if self.float_layers != LAST:
            named = not isinstance(self.float_layers, str)
            check_settings(self, float_layers=(named, f"{LAST!r} or a tuple of names of layers"))
            set_fields(self, float_layers=tuple(self.float_layers))
        is_int8 = self.kind == "int8"
        whole = self.percentile == 100
        check_settings(self, percentile=(50 < self.percentile <= 100, "above 50 and at most 100"))
        require_one_of("per_channel", self.per_channel, (True, False))
        check_settings(
            self,
            per_channel=(is_int8 or self.per_channel, "True unless 'int8'"),
            percentile=(is_int8 or whole, "100 unless 'int8'"),
            io=(is_int8 or self.io == FLOAT, f"{FLOAT!r} unless 'int8'"),
            calibration=(
                self.is_calibrated or self.calibration == DRAWN,
                f"{DRAWN!r} for a kind without calibration",
            ),
        )
        in_float = KINDS[self.kind].bits > 0 or (is_int8 and self.io == FLOAT)
        expected = f"() unless 'int4', or 'int8' with io {FLOAT!r}"
        check_settings(self, float_layers=(in_float or not self.float_layers, expected))
        remedy = _text(self.remedy)
        require(is_int8 or not remedy, "remedy", remedy, "none unless 'int8'")
        of_dense = self.after == Dense().key and whole and self.per_channel
        expected = "none unless of dense members, up to the 100th percentile, per channel"
        require(of_dense or not remedy, "remedy", remedy, expected)

    @property
    def is_calibrated(self) -> bool:
        """Whether training examples decide the ranges of activations, or how weights are rounded."""
        kind = KINDS[self.kind]
        return (kind.calibrated or kind.bits > 0) and not self.remedy

    @property
    def parent(self) -> str:
        """Key of the variant whose members are quantized."""
        return self.after

    @property
    def key(self) -> str:
        """The kind, and settings off their defaults, such as `int8-float_layers=last`."""
        return self.kind + self._key_of_settings("kind")

    @property
    def title(self) -> str:
        """The kind as [F] table 2 names it, what stays in float, and what else differs from plain quantization."""
        parts = [KINDS[self.kind].title]
        if self.float_layers == LAST:
            parts.append("last layer float")
        else:
            parts += [f"{name} float" for name in self.float_layers]
        parts += [remedy.title for remedy in self.remedies]
        if self.percentile < 100:
            parts.append(f"percentile {self.percentile:g}")
        if not self.per_channel:
            parts.append("one scale per kernel")
        if self.sparse:
            parts.append("sparse")
        if self.io != FLOAT:
            parts.append(f"{self.io} inputs and outputs")
        if self.calibration != DRAWN:
            parts.append(f"{self.calibration} training examples")
        if self.after != Dense().key:
            parts.append(f"of {self.after}")
        return ", ".join(parts)


@dataclasses.dataclass(frozen=True)
class ImportedBaseline(Dense):
    """The baseline of a study of imported predictions, which may be any model."""

    @property
    def title(self) -> str:
        """Always "baseline"."""
        return "baseline"


@dataclasses.dataclass(frozen=True)
class ImportedPredictions(Variant):
    """Predictions of models that were compressed elsewhere, by any method.

    Example:
        >>> ImportedPredictions("int8").key, ImportedPredictions("../int 8").key
        ('int8', 'int-8-41039393')
    """

    name: str  # any printable text
    paired: bool = False  # whether each model was made from the baseline's model of the same number
    family: ClassVar[str] = "given"

    def __post_init__(self) -> None:
        valid = isinstance(self.name, str) and self.name.strip() and self.name.isprintable()
        require(bool(valid), "name", self.name, "printable text that is not blank")

    @property
    def parent(self) -> str | None:
        """The baseline's key if the models are paired."""
        return Dense().key if self.paired else None

    @property
    def key(self) -> str:
        """The name if it is safe in paths, URLs and file systems; otherwise its safe characters and a checksum."""
        safe = re.sub(r"[^A-Za-z0-9._=+-]+", "-", self.name)[:60].strip("-.")
        if safe == self.name and safe != Dense().key:
            return safe
        return f"{safe or 'variant'}-{zlib.crc32(self.name.encode()):08x}"

    @property
    def title(self) -> str:
        """The name."""
        return self.name


VARIANTS = Registry(
    "variants",
    {kind.family: kind for kind in (Dense, Pruned, Quantized, ImportedPredictions)},
)
"""Variant classes by family, the name that a study's JSON gives them."""
