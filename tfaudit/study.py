"""Descriptions of what to run: a study and its training. Frozen, JSON both ways."""

from __future__ import annotations

import dataclasses
import json
import math
import textwrap
import zlib
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from tfaudit.errors import InputError, require
from tfaudit.variants import TOLD, VARIANTS, Dense, GivenBaseline, Pruned, Variant

__all__ = ["Study", "Training"]


SMOKE_EDGE = 64
"""Pixels to which `smoke` cuts the images of studies that cut theirs."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Training:
    """How one member is trained.

    Args:
        epochs: passes over the training set; 0 leaves a model as it is. Give either this or `steps`.
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
            require(
                starts == sorted(set(starts)) and starts[0] == 0, "learning_rate", starts, "epochs that rise from 0"
            )
        require(
            (self.epochs is None) != (self.steps is None), "epochs, steps", (self.epochs, self.steps), "exactly one"
        )
        require(self.epochs is None or self.epochs >= 0, "epochs", self.epochs, "1 or more, or 0: no training")
        require(self.steps is None or self.steps >= 1, "steps", self.steps, "1 or more")
        require(self.batch_size >= 1, "batch_size", self.batch_size, "1 or more")
        require(self.optimizer in ("sgd", "adam"), "optimizer", self.optimizer, "'sgd' or 'adam'")
        require(self.decay in ("constant", "cosine"), "decay", self.decay, "'constant' or 'cosine'")
        require(self.keep in ("last", "best"), "keep", self.keep, "'last' or 'best'")
        require(0 <= self.validation < 1, "validation", self.validation, "a share in [0, 1)")
        require(self.keep == "last" or self.validation > 0, "keep", self.keep, "'best' only with validation > 0")

    def total_steps(self, examples: int) -> int:
        """Optimizer steps over a training set of so many examples; the last, short batch of an epoch counts."""
        if self.epochs is None:
            return self.steps or 0
        return self.epochs * math.ceil(examples / self.batch_size)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Study:
    """A population per variant of one model on one data set.

    Args:
        name: of the study; the recipe's.
        dataset: a name that `tfaudit.load_dataset` knows.
        model: a name of `tfaudit.models`, or the path of a `.keras` file: every dense member is that model then, and
            is trained on unless the training has 0 epochs.
        training: how the members are trained; None where predictions were made elsewhere (`tfaudit.given`): then
            data set and model are words for people, and nothing can be run.
        retraining: how members are trained on after pruning at one blow; as `training` says by default.
        variants: the compressed variants; the dense baseline is always there.
        population: K, independently trained members per variant.
        top_k: ranks stored per prediction; at most the number of classes.
        seed: from which the seed of every member derives.
        limit: use only so many examples of each split; all by default.
        model_options: further arguments of the model's builder; of a file `preprocess` (`tfaudit.models.pretrained`).
        image_size: pixels that the shorter side of the images is scaled to; as they are by default.
        crop: edge of the middle square that is cut out then; `image_size` by default.
        smoke_options: what `smoke` puts in the place of single model options, to make the model small.

    Example:
        >>> from tfaudit import Pruned, Quantized
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
    training: Training | None
    retraining: Training | None = None
    variants: tuple[Variant, ...] = ()
    population: int = 10
    top_k: int = 5
    seed: int = 0
    limit: int | None = None
    model_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    image_size: int | None = None
    crop: int | None = None
    smoke_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "variants", tuple(self.variants))
        object.__setattr__(self, "model_options", dict(self.model_options))
        object.__setattr__(self, "smoke_options", dict(self.smoke_options))
        keys = [variant.key for variant in self.all_variants]
        apart = {key.casefold() for key in keys}  # paths must differ where file systems ignore case, too
        for i, variant in enumerate(self.variants, start=1):
            require(variant.parent in (None, *keys[:i]), "variants", variant.parent, f"a parent before {variant.key!r}")
        require(len(apart) == len(keys), "variants", keys, "variants that differ (dense is there by itself)")
        require(self.population >= 1, "population", self.population, "1 or more")
        require(self.top_k >= 1, "top_k", self.top_k, "1 or more")
        require(self.limit is None or self.limit >= 1, "limit", self.limit, "1 or more")

    @property
    def all_variants(self) -> tuple[Variant, ...]:
        """The dense baseline, then the compressed variants."""
        return (Dense() if self.training else GivenBaseline(), *self.variants)

    @property
    def planned_training(self) -> Training:
        """How the members are to be trained.

        Raises:
            InputError: they were not trained here.
        """
        if self.training is None:
            raise InputError(
                f"study: {self.name!r} holds predictions that were made elsewhere; there is nothing to run"
            )
        return self.training

    @cached_property
    def telling(self) -> tuple[str, ...]:
        """Settings of pruning in which the variants differ: what their titles need to tell."""
        pruned = [variant for variant in self.variants if isinstance(variant, Pruned)]
        return tuple(name for name in TOLD if len({getattr(variant, name) for variant in pruned}) > 1)

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Names of the variants for people, without the settings that all share."""
        return {
            variant.key: variant.titled(*self.telling) if isinstance(variant, Pruned) else variant.title
            for variant in self.all_variants
        }

    @property
    def shared_settings(self) -> str:
        """What all pruned variants share beyond the usual settings; empty where nothing."""
        pruned = [variant for variant in self.variants if isinstance(variant, Pruned)]
        shared = [name for name in TOLD if name not in self.telling]
        return pruned[0].technique(*shared).partition(" ")[2] if pruned else ""

    def variant(self, key: str) -> Variant:
        """The variant of that key.

        Raises:
            InputError: there is none; names those there are.
        """
        if key not in self._by_key:
            raise InputError(f"variant: {key!r}, this study has {', '.join(self._by_key)}")
        return self._by_key[key]

    @cached_property
    def _by_key(self) -> Mapping[str, Variant]:
        return {variant.key: variant for variant in self.all_variants}

    def member_seed(self, key: str, member: int) -> int:
        """Seed of a member's initial weights, batches and augmentation.

        Members of different variants get different seeds: Welch's test compares independent samples ([F] 2.4 trains
        each level from random initialisations of its own). The seed depends on the key alone, so that adding a
        variant changes no other.
        """
        return zlib.crc32(f"{self.seed}/{key}/{member}".encode()) >> 1

    def difference(self, other: Study) -> str | None:
        """The first setting in which another study differs, the population aside; None where it is the same study."""
        mine, others = (json.loads(json.dumps(study.to_json())) for study in (self, other))
        for name in mine:
            if name != "population" and mine[name] != others[name]:
                came, is_now = (textwrap.shorten(json.dumps(study[name]), 60) for study in (others, mine))
                return f"its {name} is {is_now}, not {came}"
        return None

    def smoke(self) -> Study:
        """The same study in seconds: two members, a few steps and examples, a small model, one level of each technique.

        Proves that it runs, no more.
        """
        training = self.planned_training
        small: dict[str, Any] = {
            "population": min(2, self.population),
            "limit": min(256, self.limit or 256),
            "model_options": {**self.model_options, **self.smoke_options},
            "variants": self._one_of_each_kind(),
        }
        if self.crop and not self.model.endswith(".keras"):
            small |= {"image_size": SMOKE_EDGE, "crop": SMOKE_EDGE}
        if training.epochs != 0:
            # Too few examples to hold a part of every class out.
            quick: dict[str, Any] = {
                "epochs": None,
                "batch_size": min(32, training.batch_size),
                "validation": 0.0,
                "keep": "last",
            }
            small["training"] = dataclasses.replace(training, steps=8, **quick)
            if self.retraining:
                small["retraining"] = dataclasses.replace(self.retraining, steps=4, **quick)
        return dataclasses.replace(self, **small)

    def _one_of_each_kind(self) -> tuple[Variant, ...]:
        """The first variant of every technique and treatment, and every quantization; parents are among them."""
        kept: dict[str, Variant] = {}
        for variant in self.variants:
            kind = variant.technique(*TOLD) if isinstance(variant, Pruned) else variant.key
            if kind not in kept and variant.parent in (None, "dense", *(each.key for each in kept.values())):
                kept[kind] = variant
        return tuple(kept.values())

    def to_json(self) -> dict[str, Any]:
        """A dictionary of plain JSON values."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        for name in ("training", "retraining"):
            fields[name] = fields[name] and dataclasses.asdict(fields[name])
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
                variants.append(VARIANTS[settings.pop("family")](**settings))
            plans = {name: fields.get(name) and Training(**fields[name]) for name in ("training", "retraining")}
            return cls(**{**fields, **plans, "variants": tuple(variants)})
        except (KeyError, TypeError) as problem:
            raise InputError(f"study: not a description that this version of tfaudit reads ({problem})") from None
