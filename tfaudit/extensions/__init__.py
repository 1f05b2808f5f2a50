"""Extensions: folders of audits, engines, commands and more, which the core does not know.

The `extension.py` of each names what it adds as "module:name"; nothing is imported before it is used. To remove an
extension of ours, delete its folder, its tests, its page in `docs/` and its line in `OURS`. Packages of others declare
theirs as entry points of the group `tfaudit.extensions`.
"""

import dataclasses
import functools
import importlib
import importlib.util
from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from tfaudit.errors import InputError

GROUP = "tfaudit.extensions"
"""Group of the entry points that lead to extensions of other packages."""

OURS = (
    "calibration",
    "chip",
    "corruptions",
    "costs",
    "detection",
    "distortion",
    "divergence",
    "exports",
    "factors",
    "forecast",
    "intersections",
    "lm_eval",
    "mixed_precision",
    "networks",
    "operating_points",
    "planning",
    "quantization_aware",
    "ray",
    "remedies",
    "search",
    "shrinking",
    "slices",
    "survey",
    "trends",
)
"""Extensions of this package, by the name of their folder."""

Places = Mapping[str, str]
"""Names, and where each is defined: "module:name"."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Extension:
    """What a folder, or a package of someone else, adds to tfaudit.

    Attributes:
        name: name of the extension.
        requires: modules that must be installed before it can be used.
        uses: names of the extensions that it imports.
        names: public names below `tfaudit`, such as "forecast" or "audits.forecast".
        audits: audits of a variant, each a `tfaudit.analysis.audits.Audit`.
        joint_audits: audits of all variants at once, each a `tfaudit.analysis.joint_audits.JointAudit`.
        joint_sections: sections of a report on several studies, functions of the `StudyAudit` of
            every study by name.
        pages: pages of the viewer, each a `tfaudit.app.viewer_page.ViewerPage`, for audits that need one of their own.
        limits: what limits of the gate need, functions of both populations and the features of the examples.
        quantities: what its own verdicts limit, each a `tfaudit.audits.gate.limits.Quantity`, by the check's name.
        variants: classes of variants by family, each a subclass of `tfaudit.study.variants.Variant`.
        outcomes: readers of outcomes that other programs write, functions of a path, a metric and a filter; they return
            a frame whose `attrs` name its columns of `texts` and of `seals`, or None for another path.
        channel_scores: scores of channels that pruning ranks, functions as in `tfaudit.compress.pruning.scores`.
        score_inputs: what scores take and examples show, functions of a model, kernels, values, inputs and an axis.
        architectures: networks by name, each a `tfaudit.models.registry.Architecture`.
        corruptions: corruptions of images, each a `tfaudit.datasets.corruptions.registry.Corruption`.
        kinds: kinds of quantization, each a `tfaudit.study.quantization.QuantizationKind`.
        candidates: further candidates of a search, classes such as `mixed_precision.candidates.LayersInFloat`.
        remedies: remedies of pruned variants, each a `tfaudit.study.remedies.Remedy`.
        quantization_remedies: the same of int8 variants.
        layers: Keras layers that saved models may hold.
        engines: engines of `tfaudit.run`, functions of directory, `EngineOptions`, splits and versions.
        commands: subcommands of `tfaudit`, functions with Typer's annotations.
        gate_files: files that `tfaudit gate` writes, each an `Outlet` and a flag of its name.
        exports: formats of `tfaudit export`, each a `tfaudit.outlets.registry.Outlet`.

    >>> Extension(name="ours", commands={"hello": "ours.hello:hello"}).audits
    {}
    """

    name: str
    requires: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    names: Places = dataclasses.field(default_factory=dict)
    audits: Places = dataclasses.field(default_factory=dict)
    joint_audits: Places = dataclasses.field(default_factory=dict)
    joint_sections: Places = dataclasses.field(default_factory=dict)
    pages: Places = dataclasses.field(default_factory=dict)
    limits: Places = dataclasses.field(default_factory=dict)
    quantities: Places = dataclasses.field(default_factory=dict)
    variants: Places = dataclasses.field(default_factory=dict)
    outcomes: Places = dataclasses.field(default_factory=dict)
    channel_scores: Places = dataclasses.field(default_factory=dict)
    score_inputs: Places = dataclasses.field(default_factory=dict)
    architectures: Places = dataclasses.field(default_factory=dict)
    corruptions: Places = dataclasses.field(default_factory=dict)
    kinds: Places = dataclasses.field(default_factory=dict)
    candidates: Places = dataclasses.field(default_factory=dict)
    remedies: Places = dataclasses.field(default_factory=dict)
    quantization_remedies: Places = dataclasses.field(default_factory=dict)
    layers: Places = dataclasses.field(default_factory=dict)
    engines: Places = dataclasses.field(default_factory=dict)
    commands: Places = dataclasses.field(default_factory=dict)
    gate_files: Places = dataclasses.field(default_factory=dict)
    exports: Places = dataclasses.field(default_factory=dict)

    @property
    def missing(self) -> tuple[str, ...]:
        """Modules that it requires and that are not installed."""
        return tuple(name for name in self.requires if importlib.util.find_spec(name) is None)


def load(place: str) -> Any:
    """Import what a place, "module:name", defines.

    >>> load("math:pi")
    3.141592653589793
    """
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


@functools.cache
def extensions() -> tuple[Extension, ...]:
    """Return the declarations of all extensions: ours, then those of other packages.

    Raises:
        InputError: the declaration of another package cannot be imported.
    """
    ours = (load(f"{GROUP}.{name}.extension:EXTENSION") for name in OURS)
    return (*ours, *map(_foreign, entry_points(group=GROUP)))


def _foreign(point: EntryPoint) -> Extension:
    """Return the declaration of another package."""
    try:
        extension = point.load()
    except Exception as problem:
        extension = problem
    if not isinstance(extension, Extension):
        got = f"{extension!r} from {point.value}"
        raise InputError(f"extension {point.name}", got, "a tfaudit.extensions.Extension")
    return extension


@functools.cache
def declared(kind: str) -> Mapping[str, tuple[Extension, str]]:
    """Return the extension and the place of everything of one kind, such as "commands", by name.

    Raises:
        InputError: two extensions declare the same name.
    """
    found: dict[str, tuple[Extension, str]] = {}
    for extension in extensions():
        for name, place in getattr(extension, kind).items():
            if name in found:
                got = f"{kind} {name!r} twice"
                raise InputError(f"extension {extension.name}", got, "a name of its own")
            found[name] = extension, place
    return found


class Registry(Mapping[str, Any]):
    """Things of one kind by name: those of the core, then those of extensions.

    A thing that is named as a place, "module:name", is imported when it is looked up.

    >>> Registry("engines", {"number": "math:pi"})["number"]
    3.141592653589793
    """

    def __init__(self, kind: str, core: Mapping[str, Any]) -> None:
        self._kind = kind
        self.core = core

    def __getitem__(self, name: str) -> Any:
        found = self.core[name] if name in self.core else self.added()[name]
        return load(found) if isinstance(found, str) else found

    def __contains__(self, name: object) -> bool:
        return name in self.core or name in self.added()

    def __iter__(self) -> Iterator[str]:
        return iter({**self.core, **self.added()})

    def __len__(self) -> int:
        return len({**self.core, **self.added()})

    def added(self) -> dict[str, str]:
        """Return the places of what extensions add, by name."""
        return {name: place for name, (_, place) in declared(self._kind).items()}


PUBLIC_NAMES = Registry("names", {})
"""Public names of extensions. One that can do without another asks here for what it adds, and imports nothing of it."""
