"""What a study does to its models: nothing (dense), pruning while they train, quantization afterwards, or unknown."""

from __future__ import annotations

import dataclasses
import re
import zlib
from typing import ClassVar

from tfaudit.errors import require

__all__ = [
    "TOLD",
    "TREATMENTS",
    "VARIANTS",
    "Dense",
    "Given",
    "GivenBaseline",
    "Pruned",
    "Quantized",
    "Variant",
]


@dataclasses.dataclass(frozen=True)
class Variant:
    """What is done to a model. Every variant of a study has members of its own."""

    family: ClassVar[str]

    @property
    def parent(self) -> str | None:
        """Key of the variant from whose member of the same number each member is made; None if from scratch."""
        return None

    @property
    def key(self) -> str:
        """Name in paths and tables: stable, short, of safe characters."""
        raise NotImplementedError

    @property
    def title(self) -> str:
        """Name for people."""
        return self.key

    def _deviations(self, *stated: str) -> str:
        """The settings that differ from their defaults, as `-name=value`."""
        chosen = [f for f in dataclasses.fields(self) if f.name not in stated and getattr(self, f.name) != f.default]
        return "".join(f"-{f.name}={_plain(getattr(self, f.name))}" for f in chosen)


def _plain(value: object) -> str:
    return "+".join(map(str, value)) if isinstance(value, tuple) else str(value)


@dataclasses.dataclass(frozen=True)
class Dense(Variant):
    """The uncompressed baseline; every study has it."""

    family: ClassVar[str] = "dense"

    @property
    def key(self) -> str:
        """Always "dense"."""
        return "dense"


TREATMENTS = ("gradual", "one_shot", "finetune", "rewind")


@dataclasses.dataclass(frozen=True)
class Pruned(Variant):
    """A share of the weights goes to zero: while a model trains, or at one blow from one that was trained.

    Treatments:

    - "gradual": trained from scratch while the share rises, [F] 2.4.
    - "one_shot": the model of `after` is pruned at one blow, and stays so.
    - "finetune": it is also trained on, as the study's `retraining` says, [R] 6.
    - "rewind": the weights that stay go back to what they were at step `rewind_to` of the dense member's training, all
      other variables too, and it is trained as `retraining` says: the lottery ticket, [P], [R] table 12.

    All but the first have parents: member k is made from member k of the variant `after`. So every method and ratio
    may start from the same dense members, and rounds of pruning follow one another; see `tfaudit.study.iterative`.

    Args:
        sparsity: share of zeros in the selected kernels at the end, in (0, 1); None where `ratio` is given.
        method: which weights go first: a name of `tfaudit.compress.pruning.scores`, or of the channel methods.
        scope: "layer" (each kernel reaches the sparsity) or "global" (all are ranked together).
        begin: share of the steps after which gradual pruning starts.
        end: share of the steps at which the sparsity is reached.
        frequency: steps between two updates of the masks; about a hundred updates by default.
        layers: names of the layers to prune; every layer with a kernel by default.
        ratio: of all parameters before to those that are left, above 1, in place of the sparsity ([R]).
        treatment: one of `TREATMENTS`.
        after: key of the variant whose members are pruned; "dense", or an earlier round.
        rewind_to: step of the dense member's training to go back to; 0 is its initialisation.
        spare: names of layers to leave alone, for instance `("logits",)`, the classifier ([R], [F]).
        granularity: "weight", or "channel": whole slices of a kernel.
        axis: of the channels in a kernel: -2 its inputs ([P]), -1 its outputs.
        gradient: of methods that need gradients: of the whole loss, "loss" ([R]'s text), or "data" (its code).
        decay: coefficient of the method "undecayed"; the training's weight decay by default.
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
    spare: tuple[str, ...] = ()
    granularity: str = "weight"
    axis: int = -2
    gradient: str = "loss"
    decay: float | None = None
    family: ClassVar[str] = "pruning"

    def __post_init__(self) -> None:
        if self.layers is not None:
            object.__setattr__(self, "layers", tuple(self.layers))
        object.__setattr__(self, "spare", tuple(self.spare))
        one = (self.sparsity is None) != (self.ratio is None)
        require(one, "sparsity, ratio", (self.sparsity, self.ratio), "exactly one of the two")
        require(self.sparsity is None or 0 < self.sparsity < 1, "sparsity", self.sparsity, "a share in (0, 1)")
        require(self.ratio is None or self.ratio > 1, "ratio", self.ratio, "above 1")
        require(0 <= self.begin < self.end <= 1, "begin, end", (self.begin, self.end), "0 <= begin < end <= 1")
        require(self.frequency is None or self.frequency >= 1, "frequency", self.frequency, "1 or more")
        require(self.scope in ("layer", "global"), "scope", self.scope, "'layer' or 'global'")
        require(self.treatment in TREATMENTS, "treatment", self.treatment, ", ".join(TREATMENTS))
        require(self.after == "dense" or self.treatment != "gradual", "after", self.after, "'dense' where gradual")
        require(self.rewind_to >= 0, "rewind_to", self.rewind_to, "a step, 0 or more")
        require(not self.rewind_to or self.treatment == "rewind", "rewind_to", self.rewind_to, "0 unless 'rewind'")
        require(not (self.layers and self.spare), "spare", self.spare, "() where layers are given")
        require(self.granularity in ("weight", "channel"), "granularity", self.granularity, "'weight' or 'channel'")
        require(self.axis in (-2, -1), "axis", self.axis, "-2 or -1")
        require(self.gradient in ("loss", "data"), "gradient", self.gradient, "'loss' or 'data'")
        require(self.decay is None or self.decay >= 0, "decay", self.decay, "0 or more")

    @property
    def parent(self) -> str | None:
        """The variant whose members are pruned; None where members are trained from scratch."""
        return None if self.treatment == "gradual" else self.after

    @property
    def level(self) -> float:
        """The sparsity, or the ratio: what is on the axis of a study's tables."""
        return self.sparsity if self.ratio is None else self.ratio  # type: ignore[return-value]

    @property
    def key(self) -> str:
        """For instance `magnitude-0.9`, `magnitude-0.9-scope=global` or `undecayed-r10-treatment=finetune`."""
        level = f"{self.sparsity:g}" if self.ratio is None else f"r{self.ratio:g}"
        return f"{self.method}-{level}" + self._deviations("method", "sparsity", "ratio", "after")

    @property
    def title(self) -> str:
        """For instance `magnitude 90 %` or `undecayed ratio 10 finetune`."""
        return self.titled(*TOLD)

    def titled(self, *told: str) -> str:
        """Method, level, and of the named settings those that are not the usual ones; see `Study.titles`."""
        level = f"{100 * self.sparsity:.3g} %" if self.sparsity is not None else f"ratio {self.ratio:g}"
        return " ".join((self.method, level, *self._words(told)))

    def technique(self, *told: str) -> str:
        """What the level is of: the method and the settings that `titled` names."""
        return " ".join((self.method, *self._words(told)))

    def _words(self, told: tuple[str, ...]) -> list[str]:
        usual = {field.name: field.default for field in dataclasses.fields(self)}
        chosen = {name: getattr(self, name) for name in told if getattr(self, name) != usual[name]}
        plain = ("treatment", "granularity")
        return [
            _plain(value).replace("_", "-") if name in plain else f"{name}={_plain(value)}"
            for name, value in chosen.items()
        ]


TOLD = (
    "granularity",
    "treatment",
    "scope",
    "axis",
    "begin",
    "end",
    "frequency",
    "layers",
    "spare",
    "gradient",
    "decay",
)
"""Settings that a title tells, in this order; where all pruned variants of a study share one, it does not."""


@dataclasses.dataclass(frozen=True)
class Quantized(Variant):
    """Made from the dense member of the same number with TensorFlow Lite, without further training: [F] A.

    Args:
        kind: "float32", "float16", "dynamic_range" or "int8".
    """

    kind: str
    family: ClassVar[str] = "quantization"

    def __post_init__(self) -> None:
        allowed = ("float32", "float16", "dynamic_range", "int8")
        require(self.kind in allowed, "kind", self.kind, ", ".join(allowed))

    @property
    def parent(self) -> str:
        """Always "dense"."""
        return Dense().key

    @property
    def key(self) -> str:
        """The kind."""
        return self.kind

    @property
    def title(self) -> str:
        """The kind as [F] table 2 names it."""
        return {"dynamic_range": "dynamic range int8", "int8": "fixed-point int8"}.get(self.kind, self.kind)


@dataclasses.dataclass(frozen=True)
class GivenBaseline(Dense):
    """The baseline of a study whose predictions were made elsewhere: it may be anything."""

    @property
    def title(self) -> str:
        """Always "baseline"."""
        return "baseline"


@dataclasses.dataclass(frozen=True)
class Given(Variant):
    """Compressed elsewhere, by means unknown: only its predictions are here.

    Args:
        name: for people; any printable text.
        paired: was each model made from the baseline's model of the same number?

    Example:
        >>> Given("int8").key, Given("../int 8").key
        ('int8', 'int-8-41039393')
    """

    name: str
    paired: bool = False
    family: ClassVar[str] = "given"

    def __post_init__(self) -> None:
        fits = isinstance(self.name, str) and self.name.strip() and self.name.isprintable()
        require(bool(fits), "name", self.name, "printable text that is not blank")

    @property
    def parent(self) -> str | None:
        """The baseline's key where the models are paired."""
        return Dense().key if self.paired else None

    @property
    def key(self) -> str:
        """The name where it is safe in paths, URLs and on any file system; else what is safe of it, and a checksum."""
        safe = re.sub(r"[^A-Za-z0-9._=+-]+", "-", self.name)[:60].strip("-.")
        if safe == self.name and safe != Dense().key:
            return safe
        return f"{safe or 'variant'}-{zlib.crc32(self.name.encode()):08x}"

    @property
    def title(self) -> str:
        """The name itself."""
        return self.name


VARIANTS: dict[str, type[Variant]] = {
    "dense": Dense,
    "pruning": Pruned,
    "quantization": Quantized,
    "given": Given,
}
"""The kinds of variants by family, as a study's JSON names them."""
