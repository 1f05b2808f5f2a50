"""A study: what to train and compress, on which data."""

from __future__ import annotations

import dataclasses
import json
import math
import textwrap
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from tfaudit.datasets.corruptions.registry import SEVERITIES
from tfaudit.datasets.scaling import Scaling
from tfaudit.errors import InputError, number, require, require_one_of, require_type
from tfaudit.runtime.names import clean_names
from tfaudit.runtime.seals import seal_of_json
from tfaudit.runtime.user_functions import as_reference, is_reference, source_digest
from tfaudit.study.conditions import Condition, all_conditions
from tfaudit.study.model_source import ModelSource, conversion
from tfaudit.study.remedies import distinguishing_settings
from tfaudit.study.settings import (
    changed_settings,
    check_least,
    check_settings,
    set_fields,
)
from tfaudit.study.training import Training
from tfaudit.study.variants import (
    OF_REMEDY,
    TITLE_SETTINGS,
    VARIANTS,
    Dense,
    ImportedBaseline,
    Pruned,
    Variant,
)

MOST_MEMBERS, MOST_VARIANTS = 100_000, 10_000
"""Largest study: a longer list of what should be there would fill the memory before anything is read."""

SMOKE_EDGE = 64  # edge in pixels to which `smoke` crops the images of studies that crop them

_CHANGEABLE = (
    "population",
    "corruptions",
    "severities",
    "benchmarks",
    "corrupted_members",
    "corrupted_variants",
    "variants",
    "fingerprints",
)
"""Settings that may change without invalidating existing members; the last two have checks of their own."""

_COLLECTIONS: Mapping[str, type] = {
    **dict.fromkeys(("variants", "corruptions", "severities", "benchmarks"), tuple),
    **dict.fromkeys(("model_options", "smoke_options", "fingerprints"), dict),
    "corrupted_variants": tuple,
}
"""Type of the settings that are collections, whatever the type that was given."""

INITIALISATIONS = ("fresh", "file", "same")

_SOURCES = ("model", "dataset", "training", "retraining")
"""Settings that may be functions of the user's."""

Source = Any
"""A name, a path or a reference (`tfaudit.runtime.user_functions`), each of them text, or a function."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Study:
    """Populations of one model on one data set, one per variant.

    Args:
        name: name of the study and its recipe.
        dataset: a name that `tfaudit.load_dataset` knows, or a function `load(split)` (`tfaudit.Examples`).
        model: a name of `tfaudit.models`, the path of a `.keras` file, or a function that returns a Keras model and
            takes nothing or any of `input_shape`, `num_classes` and `seed`.
        training: training of the members, or a function `fit(model, train, *, seed, callbacks)` that trains a model
            in place and returns its History. None for imported predictions (`tfaudit.store.import_predictions`): such
            a study cannot be run, and its data set and model are mere descriptions.
        retraining: training after one-shot pruning; `training` by default.
        variants: the compressed variants; the dense baseline is always included.
        population: K, the number of independently trained members per variant.
        top_k: number of ranked classes stored per prediction; at most the number of classes.
        seed: root of all members' seeds.
        limit: largest number of examples to use of each split: the first ones of a data set by name, those from all
            parts of a function's; all by default.
        model_options: further arguments of the model's builder, such as `mean` and `std` of the pixels, which are
            otherwise those of the training images; for a file, `preprocess` (`tfaudit.models.pretrained`).
        image_size: length in pixels to which the shorter side of the images is scaled; unscaled by default.
        crop: edge of the central square that is then cropped; `image_size` by default.
        bicubic: whether images are scaled as in [F]'s released code, bicubically without anti-aliasing or rounding
            (`tfaudit.datasets.scaling`), those of benchmarks and corrupted ones once more; they are then always
            streamed. By default they are scaled bilinearly with anti-aliasing, and rounded.
        smoke_options: model options that `smoke` replaces to make the model small.
        corruptions: names of corruptions (`tfaudit.corrupt`) that are applied to the test set for further tests.
        severities: severities of the corruptions; 1 to 5 by default.
        benchmarks: TFDS names of further test sets, such as "cifar10_corrupted/fog_3" or "imagenet_a";
            `"imagenet2012_corrupted/*"` stands for all configurations that are prepared where the study runs.
            "imagenet_a/restricted" and "imagenet_r/restricted" let models predict only the 200 classes that are shown.
        corrupted_members: number of members per variant to test under these conditions; all by default.
        corrupted_variants: keys of the variants to test under them; all by default. The baseline is always tested.
        initialise: initial weights of members that are trained from a `.keras` file: "fresh" for new weights of each
            member, or "file" for the weights in the file; "fresh" by default if they are trained at all. For a function
            that gives every member the same initial weights, such as pre-trained ones: "same", without which it is
            refused.
        fork: whether variants that are pruned gradually from a step S on (`Pruned(begin=...)`) continue the dense
            member of the same number from its step S - 1. They then have its seed, and pairs are compared. By default,
            every member is trained from its own initial weights.
        fingerprints: SHA-256 of the files of the functions and of the model, by reference; a run records them.

    Functions stand at the top level of a module or file, or are references to one, `"nets.py:build"` or
    `"package.nets:build"`: worker processes import them (docs/studies.md).

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
    dataset: Source
    model: Source
    training: Training | Source | None
    retraining: Training | Source | None = None
    variants: tuple[Variant, ...] = ()
    population: int = 10
    top_k: int = 5
    seed: int = 0
    limit: int | None = None
    model_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    image_size: int | None = None
    crop: int | None = None
    bicubic: bool = False
    smoke_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    corruptions: tuple[str, ...] = ()
    severities: tuple[int, ...] = SEVERITIES
    benchmarks: tuple[str, ...] = ()
    corrupted_members: int | None = None
    corrupted_variants: tuple[str, ...] | None = None
    initialise: str | None = None
    fork: bool = False
    fingerprints: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        self._check_sources()
        if isinstance(self.variants, Variant):
            got = f"{type(self.variants).__name__}, a single variant"
            raise InputError(
                "variants", got, "a tuple of variants, such as variants=[tfaudit.Pruned(0.9)]"
            )
        require_type("a list of variants", Iterable, variants=self.variants)
        for name, kind in _COLLECTIONS.items():
            if (value := getattr(self, name)) is not None:
                set_fields(self, **{name: kind(value)})
        self._check_variants()
        set_fields(self, name=clean_names([self.name], "study")[0])
        check_least(self, population=1, top_k=1, limit=1, corrupted_members=1)
        all_conditions(self.corruptions, self.severities, self.benchmarks)
        seed_fits = not self.corruptions or 0 <= self.seed < 2**63
        check_settings(
            self,
            population=(number(self.population) <= MOST_MEMBERS, f"1 to {MOST_MEMBERS:,}"),
            seed=(seed_fits, "0 to 2**63 - 1 if images are corrupted"),
            severities=(bool(self.severities), "one or more of 1, 2, 3, 4 and 5"),
        )
        can_fork = isinstance(self.training, Training) and bool(self.forked)
        expected = "False, or a tfaudit.Training and a gradual variant with begin > 0"
        valid = self.fork is False or (self.fork is True and can_fork)
        require(valid, "fork", self.fork, expected)

    def _check_variants(self) -> None:
        """Raise an `InputError` unless the variants differ, and each stands after its parent."""
        count = len(self.variants)
        require(count <= MOST_VARIANTS, "variants", count, f"at most {MOST_VARIANTS:,}")
        for variant in self.variants:
            valid = isinstance(variant, Variant)
            require(valid, "variants", variant, "variants, such as tfaudit.Pruned(0.9)")
        keys = self.keys
        for i, variant in enumerate(self.variants, start=1):
            parent = variant.parent
            known = parent in (None, *keys[:i])
            require(known, "variants", parent, f"a parent before {variant.key!r}")
        # Paths must also differ on file systems that ignore case.
        differ = len({key.casefold() for key in keys}) == len(keys)
        require(differ, "variants", keys, "variants that differ; dense is always included")
        for key in self.corrupted_variants or ():
            require_one_of("corrupted_variants", key, keys)

    def _check_sources(self) -> None:
        """Replace functions by their references, and set what depends on the kind of model."""
        model = "a name, the path of a .keras file (model.save('net.keras')), or a function that builds the model"
        data = "a name, or a function load(split) of a file"
        training = (
            "a tfaudit.Training, or a function fit(model, train, *, seed, callbacks) of a file"
        )
        expected = {"model": model, "dataset": data, "training": training, "retraining": training}
        for name, allowed in expected.items():
            value = getattr(self, name)
            require(value is not None or name.endswith("training"), name, value, allowed)
            if value is not None and not isinstance(value, Training):
                source = as_reference(name, value, allowed)
                valid = name in ("model", "dataset") or is_reference(source)
                require(valid, name, value, allowed)
                set_fields(self, **{name: source})
        keras_file = "a .keras file"
        converted = conversion(self.model, keras_file)
        require(converted == keras_file, "model", self.model, converted)
        how = self.initialise
        known = ", ".join(map(repr, INITIALISATIONS))
        require(how in (None, *INITIALISATIONS), "initialise", how, known)
        if self.training is not None and self.model_source.is_file:
            require(how != "same", "initialise", how, "'fresh' or 'file' for a .keras file")
            untrained = isinstance(self.training, Training) and self.training.epochs == 0
            set_fields(self, initialise=how or ("file" if untrained else "fresh"))
        else:
            fits = how is None or (how == "same" and self.model_source.is_function)
            unless = "None unless the model is a .keras file, or 'same' for a function"
            require(fits, "initialise", how, unless)

    @cached_property
    def model_source(self) -> ModelSource:
        """The source of the model: a name, a file or a function."""
        return ModelSource.of(self.model)

    @property
    def scaling(self) -> Scaling:
        """The size to which images are scaled and cropped."""
        return Scaling(self.image_size, self.crop, self.bicubic)

    @property
    def sources(self) -> tuple[str, ...]:
        """Path of the study's model file, and references of its functions: the keys of `fingerprints`."""
        own = [value for name in _SOURCES if is_reference(value := getattr(self, name))]
        return tuple(dict.fromkeys([self.model, *own] if self.model_source.is_file else own))

    @property
    def subject(self) -> str:
        """Model and data set in words, such as "lenet_r on fashion_mnist"; files and functions without their folders.

        A function of a package is named after its module: "tfaudit.recipes.cifar10_pretrained:build" becomes
        "cifar10_pretrained".
        """
        short = (
            _short_name(name) if name in self.sources else name
            for name in (self.model, self.dataset)
        )
        return " on ".join(dict.fromkeys(short))

    def with_fingerprints(self) -> Study:
        """Return the study with the present fingerprints of its sources; raise `InputError` if any is missing."""
        digests = {
            source: source_digest(self.argument_of(source), source) for source in self.sources
        }
        return dataclasses.replace(self, fingerprints=digests)

    def changed_source(self, other: Study) -> str | None:
        """Return the other study's first source whose fingerprint differs from this study's; None if there is none."""
        for mine, others in zip(self.sources, other.sources, strict=False):
            before = self.fingerprints.get(mine)
            after = other.fingerprints.get(others)
            if before and after and before != after:
                return others
        return None

    def check_continuation(
        self, other: Study, directory: Path, *, accept_changed_code: bool = False
    ) -> None:
        """Raise an `InputError` unless another study continues this one, whose members a directory holds.

        The population may grow, and there may be more variants. With `accept_changed_code` the source file of a
        function may have changed; a changed model file is another study.
        """
        if difference := self.difference(other):
            got = f"{directory}, which holds another study: {difference}"
            raise InputError("directory", got, "the same study or another directory")
        source = self.changed_source(other)
        is_model = source is not None and source.endswith(".keras")
        if source is not None and (is_model or not accept_changed_code):
            got = f"{source}, which has changed since the members in {directory} were made"
            how = "the unchanged file, another directory"
            if not is_model:
                how += ", or --accept-changed-code to go on with members of both"
            raise InputError(other.argument_of(source), got, how)
        if other.population < self.population:
            expected = f"{self.population} or more, which {directory} already holds per variant"
            raise InputError("population", str(other.population), expected)

    def argument_of(self, source: str) -> str:
        """Return the name of the setting whose value is one of `sources`."""
        return next(name for name in _SOURCES if getattr(self, name) == source)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Conditions to test besides the test set, without benchmark names ending in `/*`, which a run replaces."""
        return all_conditions(self.corruptions, self.severities, self.benchmarks)

    @property
    def evaluated(self) -> tuple[tuple[str, ...], int]:
        """Keys of the variants to test under every condition, the baseline first, and the members of each."""
        chosen = self.keys[1:] if self.corrupted_variants is None else self.corrupted_variants
        keys = tuple(key for key in self.keys if key in (self.keys[0], *chosen))
        return keys, min(self.corrupted_members or self.population, self.population)

    @property
    def all_variants(self) -> tuple[Variant, ...]:
        """The dense baseline, followed by the compressed variants."""
        return (Dense() if self.training else ImportedBaseline(), *self.variants)

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of all variants, the dense baseline first."""
        return tuple(variant.key for variant in self.all_variants)

    @property
    def planned_training(self) -> Training | str:
        """The training of the members; a study of imported predictions has none and raises `InputError`."""
        if self.training is None:
            got = f"{self.name!r}, which holds imported predictions"
            raise InputError("study", got, "a study with a training")
        return self.training

    @property
    def planned_retraining(self) -> Training | str:
        """The training of members that go on from a trained model."""
        return self.retraining or self.planned_training

    @cached_property
    def varied_settings(self) -> tuple[str, ...]:
        """Settings of pruning in which the variants differ, and which their titles therefore name."""
        varied = [
            name
            for name in TITLE_SETTINGS
            if len({getattr(variant, name) for variant in self._pruned}) > 1
        ]
        of_remedies = distinguishing_settings({variant.remedies for variant in self._pruned})
        return (*varied, *(OF_REMEDY + name for name in of_remedies))

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Readable names of the variants by key, without the settings that all share."""
        settings = self.varied_settings
        return {
            variant.key: variant.title_with(*settings)
            if isinstance(variant, Pruned)
            else variant.title
            for variant in self.all_variants
        }

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Name of every variant for readers and commands, by key: its title, or its key if others share the title."""
        counts = Counter(self.titles.values())
        return {key: title if counts[title] == 1 else key for key, title in self.titles.items()}

    def key_of(self, name: str) -> str:
        """Return the key of a compressed variant by its key or its name.

        Raises:
            InputError: there is no such variant.

        Example:
            >>> study = Study(name="s", dataset="digits", model="digits_convnet", training=Training(epochs=1),
            ...               variants=(Pruned(0.5), Pruned(0.9)))
            >>> study.key_of("magnitude 50 %"), study.key_of("magnitude-0.9")
            ('magnitude-0.5', 'magnitude-0.9')
        """
        compressed = self.keys[1:]
        names = {self.names[key]: key for key in compressed} | {key: key for key in compressed}
        expected = ", ".join(self.names[key] for key in compressed) or "none"
        require(name in names, "variant", name, f"a compressed variant ({expected})")
        return names[name]

    @property
    def shared_settings(self) -> str:
        """Settings off their defaults that all pruned variants share; empty if there are none."""
        shared = [name for name in TITLE_SETTINGS if name not in self.varied_settings]
        return self._pruned[0].pruning_method(*shared).partition(" ")[2] if self._pruned else ""

    @property
    def _pruned(self) -> list[Pruned]:
        return [variant for variant in self.variants if isinstance(variant, Pruned)]

    def variant(self, key: str) -> Variant:
        """Return the variant with a key; an unknown key raises `InputError`."""
        require_one_of("variant", key, self._by_key)
        return self._by_key[key]

    def parent_of(self, key: str) -> str | None:
        """Return the key of the variant whose members those of a variant continue or change; None if there is none."""
        return "dense" if self.variant(key) in self.forked else self.variant(key).parent

    @property
    def forked(self) -> tuple[Pruned, ...]:
        """The variants whose members continue the training of the dense ones, as `fork` says."""
        late = (v for v in self._pruned if v.treatment == "gradual" and v.begin > 0)
        return tuple(late) if self.fork else ()

    def is_made_from_dense(self, key: str) -> bool:
        """Return whether a variant's members are made from the dense ones of the same numbers, directly or in steps."""
        parent = self.parent_of(key)
        return parent is not None and (parent == "dense" or self.is_made_from_dense(parent))

    @cached_property
    def _by_key(self) -> Mapping[str, Variant]:
        return {variant.key: variant for variant in self.all_variants}

    def member_seed(self, key: str, member: int) -> int:
        """Return the seed of a member's initial weights, batches and augmentation.

        Members of different variants have different seeds, since Welch's test compares independent samples ([F] 2.4
        trains each level from its own random initialisations). The seed depends on the variant's key alone, so adding
        a variant changes no other. A variant with recalibrated statistics has the seeds of the one without: their
        members are trained alike. A forked variant has the seeds of the dense one.
        """
        variant = self._by_key.get(key)
        if variant in self.forked:
            key = "dense"
        elif isinstance(variant, Pruned):
            key = dataclasses.replace(variant, batch_norm="moving").key
        return zlib.crc32(f"{self.seed}/{key}/{member}".encode()) >> 1

    def with_training(self, **changes: Any) -> Study:
        """Return the study with other settings of its trainings; `epochs` and `steps` are those of `training` alone.

        Args:
            **changes: fields of `Training`.

        Raises:
            InputError: a training is a function, which has settings of its own, or a setting does not fit the others.
        """
        trainings: dict[str, Any] = {}
        for name in ("training", "retraining"):
            plan = getattr(self, name)
            shared = {
                key: value for key, value in changes.items() if key not in ("epochs", "steps")
            }
            settings = changes if name == "training" else shared
            if not settings or (plan is None and name == "retraining"):
                continue
            if not isinstance(plan, Training):
                argument, value = next(iter(settings.items()))
                expected = f"no such option, since the {name} is {plan!r}"
                raise InputError(argument, repr(value), expected)
            trainings[name] = dataclasses.replace(plan, **settings)
        return dataclasses.replace(self, **trainings)

    def difference(self, other: Study) -> str | None:
        """Describe the first setting that differs but must not; None if both studies can share their members."""
        mine, others = self.identity(), other.identity()
        for name in {**mine, **others}:
            values = mine.get(name), others.get(name)
            if name in _CHANGEABLE or values[0] == values[1]:
                continue
            if not _is_moved(values, self.fingerprints, other.fingerprints):
                got, expected = (textwrap.shorten(json.dumps(value), 60) for value in values)
                return f"its {name} is {got}, not {expected}"
        for variant, settings in zip(self.variants, mine["variants"], strict=True):
            if settings not in others["variants"]:
                return f"it has the variant {variant.key}, which is missing now"
        return None

    def smoke(self) -> Study:
        """Return a version of the study that runs in seconds, to check that it runs at all.

        It is `shortened`, with a small model, small images, and no benchmark set.
        """
        short = self.shortened(steps=8, examples=256, batch_size=32)
        small: dict[str, Any] = {
            "model_options": {**self.model_options, **self.smoke_options},
            "benchmarks": (),
        }
        if self.crop and not self.model_source.is_file:
            small |= {"image_size": SMOKE_EDGE, "crop": SMOKE_EDGE}
        return dataclasses.replace(short, **small)

    def shortened(
        self, *, steps: int, examples: int, batch_size: int | None, micro_batches: int = 1
    ) -> Study:
        """Return a version of the study with its model and its images, but few members, steps and examples.

        It has two members, the first variant of each kind, and the first corruption at the first and the last severity.

        Args:
            steps: steps of trainings from scratch; retraining has half as many.
            examples: largest number of examples of each split.
            batch_size: largest batch size; None for the study's.
            micro_batches: least number of micro-batches in a smaller batch that stands for one in micro-batches.
        """
        training = self.planned_training
        variants = self._one_of_each_kind()
        short: dict[str, Any] = {
            "population": min(2, self.population),
            "limit": min(examples, self.limit or examples),
            "variants": variants,
            "corruptions": self.corruptions[:1],
            "severities": tuple(dict.fromkeys((self.severities[0], self.severities[-1]))),
        }
        if self.corrupted_variants is not None:
            keys = {"dense", *(variant.key for variant in variants)}
            short["corrupted_variants"] = [key for key in self.corrupted_variants if key in keys]
        plans = (("training", training, steps), ("retraining", self.retraining, steps // 2))
        for name, plan, most in plans:
            if isinstance(plan, Training) and plan.epochs != 0:
                batch = min(batch_size or plan.batch_size, plan.batch_size)
                micro = plan.micro_batch
                if isinstance(micro, int) and batch < plan.batch_size:
                    micro = math.gcd(micro, max(batch // micro_batches, 1))
                short[name] = dataclasses.replace(
                    plan,
                    epochs=None,
                    steps=most,
                    validation=0.0,  # there are too few examples to hold out some of every class
                    keep="last",
                    batch_size=batch,
                    micro_batch=micro,
                    steps_per_execution=1,
                )
        return dataclasses.replace(self, **short)

    def _one_of_each_kind(self) -> tuple[Variant, ...]:
        """Return the first variant of every pruning method and treatment, forked or not, and every quantization.

        Parents are among them.
        """
        chosen: dict[object, Variant] = {}
        for variant in self.variants:
            kind: object = variant.key
            if isinstance(variant, Pruned):
                method = variant.pruning_method(*TITLE_SETTINGS)
                kind = method, variant.remedies, variant in self.forked
            parents = (None, "dense", *(other.key for other in chosen.values()))
            if kind not in chosen and variant.parent in parents:
                chosen[kind] = variant
        return tuple(chosen.values())

    def to_json(self) -> dict[str, Any]:
        """Return the study as a dictionary of JSON values."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        for name in ("training", "retraining"):
            if isinstance(plan := fields[name], Training):
                fields[name] = plan.to_json()
        return {**fields, "variants": [variant.to_json() for variant in self.variants]}

    @cached_property
    def member_seals(self) -> Mapping[str, str]:
        """Checksums by variant of the settings that made its members; the record of a member holds its variant's.

        Settings that a continued study may change have no part in it, nor have the folders of files and functions, nor
        settings at their defaults, so that a later version may have more of them.
        """
        own = _changed(self, self.identity())
        for name in _CHANGEABLE:
            own.pop(name, None)
        for name in _SOURCES:
            if isinstance(plan := getattr(self, name), Training):
                own[name] = _changed(plan, own[name])
            elif own.get(name) in self.sources:
                own[name] = Path(own[name]).name
        made = {v.key: [own, v.family, _changed(v, v.to_json())] for v in self.all_variants}
        return {key: seal_of_json(settings, sort_keys=True) for key, settings in made.items()}

    def identity(self) -> dict[str, Any]:
        """Return the settings as JSON values, without those that change no result."""
        fields: dict[str, Any] = json.loads(json.dumps(self.to_json()))
        for name in ("training", "retraining"):
            if isinstance(fields[name], dict):
                del fields[name]["checkpoint_every"]
        return fields

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Study:
        """Return the study that `to_json` described; a missing or unknown field raises `InputError`."""
        try:
            _check_types(fields)
            values = dict(fields)
            copies = [dict(settings) for settings in fields["variants"]]
            values["variants"] = [VARIANTS[one.pop("family")](**one) for one in copies]
            for name in ("training", "retraining"):
                if isinstance(plan := values.setdefault(name, None), Mapping):
                    values[name] = Training(**plan)
            return cls(**values)
        except InputError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
            got = f"a description with a wrong or missing field ({problem})"
            expected = "a description that this version of tfaudit reads"
            raise InputError("study", got, expected) from None


def _changed(owner: object, described: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a dataclass's JSON values that differs from its defaults."""
    return {name: described[name] for name in changed_settings(owner) if name in described}


def _is_moved(
    sources: tuple[Any, Any], digests: Mapping[str, str], other_digests: Mapping[str, str]
) -> bool:
    """Return whether two sources are the same file, or a function of the same file, in two places."""
    mine, others = sources
    return (
        isinstance(mine, str)
        and isinstance(others, str)
        and digests.get(mine, "") == other_digests.get(others)
        and Path(mine).name == Path(others).name
    )


def _check_types(fields: Mapping[str, Any]) -> None:
    if not isinstance(fields["name"], str):
        raise TypeError("'name' is no text")
    for name in ("dataset", "model"):
        if not isinstance(fields[name], str | Mapping):
            raise TypeError(f"{name!r} is no text")
    for name in ("population", "top_k", "seed"):
        if not isinstance(fields.get(name, 1), int):
            raise TypeError(f"{name!r} is no whole number")


def _short_name(source: str) -> str:
    """Return the name of a file without its folder, or of the module of a function without its package.

    Example:
        >>> [_short_name(source) for source in ("runs/net.keras", "runs/net.py:build", "package.nets:build")]
        ['net.keras', 'net.py:build', 'nets']
    """
    module = source.rpartition(":")[0]
    return module.rpartition(".")[2] if module and not module.endswith(".py") else Path(source).name
