"""What to run: a study. Frozen, JSON both ways."""

from __future__ import annotations

import dataclasses
import json
import textwrap
import zlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from tfaudit.datasets.corruptions.registry import SEVERITIES
from tfaudit.errors import InputError, require
from tfaudit.study.conditions import Condition, all_conditions
from tfaudit.study.training import Training
from tfaudit.study.variants import TOLD, VARIANTS, Dense, GivenBaseline, Pruned, Variant

__all__ = ["Study", "Training"]


SMOKE_EDGE = 64
"""Pixels to which `smoke` cuts the images of studies that cut theirs."""

_FREE = ("population", "corruptions", "severities", "benchmarks", "corrupted_members", "corrupted_variants")
"""Settings that may change while the members that are there stay what they are."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Study:
    """A population per variant of one model on one data set.

    Args:
        name: of the study; the recipe's.
        dataset: a name that `tfaudit.load_dataset` knows.
        model: a name of `tfaudit.models`, or the path of a `.keras` file: every dense member is that model then, and
            is trained on unless the training has 0 epochs.
        training: how the members are trained; None where predictions were made elsewhere (`store.external`): then
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
        corruptions: names of `tfaudit.corrupt`; the members are also tested on the test set corrupted so.
        severities: of the corruptions.
        benchmarks: TFDS names of sets that the members are also tested on: "cifar10_corrupted/fog_3", "imagenet_a";
            "imagenet2012_corrupted/*" stands for all configurations that are prepared where the study runs.
        corrupted_members: how many members per variant are tested under these conditions; all by default.
        corrupted_variants: keys of the variants that are; all by default. The baseline is always among them.

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
    corruptions: tuple[str, ...] = ()
    severities: tuple[int, ...] = SEVERITIES
    benchmarks: tuple[str, ...] = ()
    corrupted_members: int | None = None
    corrupted_variants: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("variants", "corruptions", "severities", "benchmarks"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
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
        self._check_conditions(keys)

    def _check_conditions(self, keys: Sequence[str]) -> None:
        all_conditions(self.corruptions, self.severities, self.benchmarks)
        seed_fits = not self.corruptions or 0 <= self.seed < 2**63
        require(seed_fits, "seed", self.seed, "0 to 2**63 - 1 where images are corrupted")
        require(bool(self.severities), "severities", self.severities, "one or more of 1, 2, 3, 4 and 5")
        members = self.corrupted_members
        require(members is None or members >= 1, "corrupted_members", members, "1 or more")
        if self.corrupted_variants is not None:
            object.__setattr__(self, "corrupted_variants", tuple(self.corrupted_variants))
        for key in self.corrupted_variants or ():
            require(key in keys, "corrupted_variants", key, ", ".join(keys))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What the members are tested on besides the test set: corruptions at their severities, then benchmark sets.

        Of a name that ends in `/*` none: what it stands for is known, and written down, where the study runs.
        """
        return all_conditions(self.corruptions, self.severities, self.benchmarks)

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
        """The first setting in which another study differs; None where members of one are members of the other.

        The population may differ, and what its members are tested on besides the test set.
        """
        mine, others = (json.loads(json.dumps(study.to_json())) for study in (self, other))
        for name in mine:
            if name not in _FREE and mine[name] != others[name]:
                came, is_now = (textwrap.shorten(json.dumps(study[name]), 60) for study in (others, mine))
                return f"its {name} is {is_now}, not {came}"
        return None

    def smoke(self) -> Study:
        """The same study in seconds: two members, a few steps and examples, a small model, one level of each technique.

        Of the corruptions the first one at the first and the last severity; no benchmark set. Proves that it runs, no
        more.
        """
        training, variants = self.planned_training, self._one_of_each_kind()
        small: dict[str, Any] = {
            "population": min(2, self.population),
            "limit": min(256, self.limit or 256),
            "model_options": {**self.model_options, **self.smoke_options},
            "variants": variants,
            "corruptions": self.corruptions[:1],
            "severities": tuple(dict.fromkeys((self.severities[0], self.severities[-1]))),
            "benchmarks": (),
        }
        if self.corrupted_variants is not None:
            kept = ["dense", *(variant.key for variant in variants)]
            small["corrupted_variants"] = tuple(key for key in self.corrupted_variants if key in kept)
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
