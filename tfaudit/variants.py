"""What a study does to its models: nothing (dense), pruning while they train, quantization afterwards, or unknown."""

from __future__ import annotations

import dataclasses
import re
import zlib
from typing import ClassVar

from tfaudit.errors import require

__all__ = ["VARIANTS", "Dense", "Given", "GivenBaseline", "Pruned", "Quantized", "Variant"]


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
        require(0 < self.sparsity < 1, "sparsity", self.sparsity, "a share in (0, 1)")
        require(0 <= self.begin < self.end <= 1, "begin, end", (self.begin, self.end), "0 <= begin < end <= 1")
        require(self.frequency is None or self.frequency >= 1, "frequency", self.frequency, "1 or more")
        require(self.scope in ("layer", "global"), "scope", self.scope, "'layer' or 'global'")

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
