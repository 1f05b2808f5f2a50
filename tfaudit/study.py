"""Descriptions of what to run: a study, its training and its variants. Frozen, with stable keys, JSON both ways."""

from __future__ import annotations

import dataclasses
import math
import zlib
from collections.abc import Mapping
from typing import Any, ClassVar

from tfaudit.errors import InputError

__all__ = ["Dense", "Pruned", "Quantized", "Study", "Training", "Variant"]


def _require(condition: bool, argument: str, came: object, allowed: str) -> None:
    if not condition:
        raise InputError(f"{argument}: {came!r}, allowed is {allowed}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Training:
    """How one member is trained.

    Args:
        epochs: passes over the training set. Give either this or `steps`.
        steps: optimizer steps.
        batch_size: examples per step.
        optimizer: "sgd" or "adam".
        learning_rate: a constant, or pairs `(epoch, rate)`: from that epoch on, this rate.
        decay: "constant" or "cosine" (to zero at the last step).
        warmup: epochs over which the rate rises linearly from zero.
        momentum: of "sgd".
        nesterov: Nesterov's form of the momentum.
        weight_decay: coefficient `wd` of the L2 penalty `wd/2 |w|^2` on every kernel (not on biases or BatchNorm), as
            the papers' frameworks define it: its gradient goes through the momentum.
        augmentation: a name of `tfaudit.datasets.augmentation`.
        label_smoothing: share of the probability spread over all classes.
        validation: share of the training set held out, stratified, by the member's seed.
        keep: "last", or "best": the weights of the epoch with the lowest validation loss ([R] 6).
    """

    epochs: int | None = None
    steps: int | None = None
    batch_size: int = 128
    optimizer: str = "sgd"
    learning_rate: float | tuple[tuple[float, float], ...] = 0.01
    decay: str = "constant"
    warmup: float = 0.0
    momentum: float = 0.9
    nesterov: bool = True
    weight_decay: float = 0.0
    augmentation: str = "none"
    label_smoothing: float = 0.0
    validation: float = 0.0
    keep: str = "last"

    def __post_init__(self) -> None:
        if isinstance(self.learning_rate, list | tuple):
            object.__setattr__(self, "learning_rate", tuple((float(e), float(r)) for e, r in self.learning_rate))
            starts = [epoch for epoch, _ in self.learning_rate]
            _require(
                starts == sorted(set(starts)) and starts[0] == 0, "learning_rate", starts, "epochs that rise from 0"
            )
        _require(
            (self.epochs is None) != (self.steps is None), "epochs, steps", (self.epochs, self.steps), "exactly one"
        )
        _require((self.epochs or self.steps or 0) >= 1, "epochs, steps", self.epochs or self.steps, "1 or more")
        _require(self.batch_size >= 1, "batch_size", self.batch_size, "1 or more")
        _require(self.optimizer in ("sgd", "adam"), "optimizer", self.optimizer, "'sgd' or 'adam'")
        _require(self.decay in ("constant", "cosine"), "decay", self.decay, "'constant' or 'cosine'")
        _require(self.keep in ("last", "best"), "keep", self.keep, "'last' or 'best'")
        _require(0 <= self.validation < 1, "validation", self.validation, "a share in [0, 1)")
        _require(self.keep == "last" or self.validation > 0, "keep", self.keep, "'best' only with validation > 0")

    def total_steps(self, examples: int) -> int:
        """Optimizer steps over a training set of so many examples; the last, short batch of an epoch counts."""
        if self.steps is not None:
            return self.steps
        return self.epochs * math.ceil(examples / self.batch_size)


@dataclasses.dataclass(frozen=True)
class Variant:
    """What is done to a model. Every variant of a study has members of its own."""

    family: ClassVar[str]
    parent: ClassVar[str | None] = None

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


@dataclasses.dataclass(frozen=True)
class Pruned(Variant):
    """Trained from scratch while a share of its weights goes to zero: gradual pruning, [F] 2.4.

    Args:
        sparsity: share of zeros in the selected kernels at the end, in (0, 1).
        method: which weights go first: a name of `tfaudit.compress.scores`.
        scope: "layer" (each kernel reaches the sparsity) or "global" (all are ranked together).
        begin: share of the steps after which pruning starts.
        end: share of the steps at which the sparsity is reached.
        frequency: steps between two updates of the masks; about a hundred updates by default.
        layers: names of the layers to prune; every layer with a kernel by default.
    """

    sparsity: float
    method: str = "magnitude"
    scope: str = "layer"
    begin: float = 0.0
    end: float = 0.75
    frequency: int | None = None
    layers: tuple[str, ...] | None = None
    family: ClassVar[str] = "pruning"

    def __post_init__(self) -> None:
        if self.layers is not None:
            object.__setattr__(self, "layers", tuple(self.layers))
        _require(0 < self.sparsity < 1, "sparsity", self.sparsity, "a share in (0, 1)")
        _require(0 <= self.begin < self.end <= 1, "begin, end", (self.begin, self.end), "0 <= begin < end <= 1")
        _require(self.frequency is None or self.frequency >= 1, "frequency", self.frequency, "1 or more")
        _require(self.scope in ("layer", "global"), "scope", self.scope, "'layer' or 'global'")

    @property
    def key(self) -> str:
        """For instance `magnitude-0.9` or `magnitude-0.9-scope=global`."""
        return f"{self.method}-{self.sparsity:g}" + self._deviations("method", "sparsity")

    @property
    def title(self) -> str:
        """For instance `magnitude 90 %`."""
        return f"{self.method} {100 * self.sparsity:g} %" + self._deviations("method", "sparsity").replace("-", " ")


@dataclasses.dataclass(frozen=True)
class Quantized(Variant):
    """Made from the dense member of the same number with TensorFlow Lite, without further training: [F] A.

    Args:
        kind: "float32", "float16", "dynamic_range" or "int8".
    """

    kind: str
    family: ClassVar[str] = "quantization"
    parent: ClassVar[str | None] = "dense"

    def __post_init__(self) -> None:
        allowed = ("float32", "float16", "dynamic_range", "int8")
        _require(self.kind in allowed, "kind", self.kind, ", ".join(allowed))

    @property
    def key(self) -> str:
        """The kind."""
        return self.kind

    @property
    def title(self) -> str:
        """The kind as [F] table 2 names it."""
        return {"dynamic_range": "dynamic range int8", "int8": "fixed-point int8"}.get(self.kind, self.kind)


_VARIANTS = {"dense": Dense, "pruning": Pruned, "quantization": Quantized}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Study:
    """A population per variant of one model on one data set.

    Args:
        name: of the study; the recipe's.
        dataset: a name that `tfaudit.load_dataset` knows.
        model: a name of `tfaudit.models`.
        training: how the members are trained.
        variants: the compressed variants; the dense baseline is always there.
        population: K, independently trained members per variant.
        top_k: ranks stored per prediction; at most the number of classes.
        seed: from which the seed of every member derives.
        limit: use only so many examples of each split; all by default.
        model_options: further arguments of the model's builder.

    Example:
        >>> study = Study(name="s", dataset="digits", model="digits_convnet", training=Training(epochs=1),
        ...               variants=(Pruned(0.9), Quantized("int8")), population=2)
        >>> [variant.key for variant in study.all_variants]
        ['dense', 'magnitude-0.9', 'int8']
        >>> Study.from_json(study.to_json()) == study
        True
    """

    name: str
    dataset: str
    model: str
    training: Training
    variants: tuple[Variant, ...] = ()
    population: int = 10
    top_k: int = 5
    seed: int = 0
    limit: int | None = None
    model_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "variants", tuple(self.variants))
        object.__setattr__(self, "model_options", dict(self.model_options))
        keys = [variant.key for variant in self.all_variants]
        _require(len(set(keys)) == len(keys), "variants", keys, "variants that differ (dense is there by itself)")
        _require(self.population >= 1, "population", self.population, "1 or more")
        _require(self.top_k >= 1, "top_k", self.top_k, "1 or more")
        _require(self.limit is None or self.limit >= 1, "limit", self.limit, "1 or more")

    @property
    def all_variants(self) -> tuple[Variant, ...]:
        """The dense baseline, then the compressed variants."""
        return (Dense(), *self.variants)

    def variant(self, key: str) -> Variant:
        """The variant of that key.

        Raises:
            InputError: there is none; names those there are.
        """
        found = {variant.key: variant for variant in self.all_variants}
        if key not in found:
            raise InputError(f"variant: {key!r}, this study has {', '.join(found)}")
        return found[key]

    def member_seed(self, key: str, member: int) -> int:
        """Seed of a member's initial weights, batches and augmentation.

        Members of different variants get different seeds: Welch's test compares independent samples ([F] 2.4 trains
        each level from random initialisations of its own). The seed depends on the key alone, so that adding a
        variant changes no other.
        """
        return zlib.crc32(f"{self.seed}/{key}/{member}".encode()) >> 1

    def smoke(self) -> Study:
        """The same study in seconds: two members, a few steps, a few hundred examples. Proves that it runs, no more."""
        quick = dataclasses.replace(self.training, epochs=None, steps=8, batch_size=min(32, self.training.batch_size))
        return dataclasses.replace(
            self, training=quick, population=min(2, self.population), limit=min(256, self.limit or 256)
        )

    def to_json(self) -> dict[str, Any]:
        """A dictionary of plain JSON values."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        fields["training"] = dataclasses.asdict(self.training)
        fields["variants"] = [{"family": v.family, **dataclasses.asdict(v)} for v in self.variants]
        return fields

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Study:
        """The study that `to_json` described.

        Raises:
            InputError: a field is missing or unknown.
        """
        try:
            variants = []
            for settings in fields["variants"]:
                settings = dict(settings)
                variants.append(_VARIANTS[settings.pop("family")](**settings))
            return cls(**{**fields, "training": Training(**fields["training"]), "variants": tuple(variants)})
        except (KeyError, TypeError) as problem:
            raise InputError(f"study: not a description that this version of tfaudit reads ({problem})") from None
