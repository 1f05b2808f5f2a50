"""Held-out examples in memory: inputs, classes, columns and the groups that they form."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
import pandas as pd

from tfaudit.compress.model_inputs import length_of
from tfaudit.datasets.batches import read_batches
from tfaudit.datasets.structure import mapped
from tfaudit.errors import InputError, listed
from tfaudit.study.remedies import CLASS


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """Held-out examples: the inputs of all N examples, and their classes `(N,)`."""

    inputs: Any
    classes: np.ndarray
    columns: pd.DataFrame  # columns of a `tfaudit` data set

    @classmethod
    def of(cls, validation: Any) -> "HeldOut":
        """Return the examples of `(inputs, labels)`, of batches of them, or of a `tfaudit` data set."""
        columns = getattr(validation, "groups", pd.DataFrame())
        if isinstance(validation, tuple) and len(validation) == 2:
            parts = [validation]
        elif hasattr(validation, "batches"):
            parts = list(validation.batches(1024))
        elif hasattr(validation, "__iter__") and not isinstance(validation, tuple | Mapping | str):
            parts = [tuple(part[:2]) for part in read_batches(validation, "validation")]
        else:
            expected = (
                "(inputs, labels), a tf.data.Dataset of batches of them, or a tfaudit data set"
            )
            raise InputError("validation", type(validation).__name__, expected)
        if not parts:
            raise InputError("validation", "no batches", "one batch or more")
        arrays = [mapped(np.asarray, part) for part in parts]
        inputs, labels = keras.tree.map_structure(lambda *each: np.concatenate(each), *arrays)
        if labels.ndim == 2:
            labels = labels.argmax(axis=1) if labels.shape[1] > 1 else labels[:, 0]
        if labels.ndim != 1 or len(labels) != length_of(inputs) or not len(labels):
            got = f"labels of shape {labels.shape} for {length_of(inputs)} inputs"
            raise InputError("validation", got, "classes (N,) or one-hot (N, C), one or more")
        return cls(inputs, labels.astype(np.int64), columns)

    def __len__(self) -> int:
        return len(self.classes)

    def column(self, name: str) -> np.ndarray:
        """Return a column of values `(N,)`: an input, a column of the data set, or the classes."""
        inputs = self.inputs if isinstance(self.inputs, Mapping) else {}
        if name in inputs:
            values = np.asarray(inputs[name])
        elif name in self.columns:
            values = self.columns[name].to_numpy()
        elif name == CLASS:
            return self.classes
        else:
            names = [*inputs, *self.columns, CLASS]
            raise InputError("groups", repr(name), f"columns of validation: {listed(names)}")
        if values.size != len(self):
            raise InputError(
                "groups", f"{name!r} of shape {values.shape}", f"a value per example ({len(self)},)"
            )
        return values.reshape(-1)


@dataclasses.dataclass(frozen=True)
class HeldOutGroups:
    """Groups of examples: the combinations of column values that occur."""

    names: tuple[str, ...]  # names of the columns
    values: tuple[np.ndarray, ...]  # value of each group `(G,)`, per column
    codes: np.ndarray  # group of each held-out example `(N,)`

    @classmethod
    def of(cls, held_out: HeldOut, names: Sequence[str]) -> "HeldOutGroups":
        """Return the groups of held-out examples."""
        table = pd.DataFrame({name: held_out.column(name) for name in names})
        codes = table.groupby(list(names), dropna=False).ngroup().to_numpy()
        firsts = np.unique(codes, return_index=True)[1]
        values = tuple(table[name].to_numpy()[firsts] for name in names)
        return cls(tuple(names), values, codes)

    def __len__(self) -> int:
        return len(self.values[0])

    def same_as(self, other: "HeldOutGroups") -> bool:
        """Return whether the groups are the same, regardless of the examples."""
        same = map(np.array_equal, self.values, other.values)
        return self.names == other.names and all(same)

    @property
    def labels(self) -> list[str]:
        """Readable names of the groups, such as `"7"` or `"female, old"`."""
        texts = (
            [value.decode() if isinstance(value, bytes) else str(value) for value in column]
            for column in self.values
        )
        return list(map(", ".join, zip(*texts, strict=True)))
