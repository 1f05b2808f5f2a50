"""The Parquet files of a study, both ways: predictions of a member, examples of a split, facts about classes.

Checksums are over what statistics rest on: Parquet's own cover the pages alone, and skip columns that are not read.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tfaudit.errors import InputError
from tfaudit.stats.ranking import RankedClasses

__all__ = [
    "DAMAGED",
    "example_bytes",
    "examples_seal",
    "prediction_bytes",
    "read_examples",
    "read_facts",
    "read_images",
    "read_predictions",
    "read_sealed_predictions",
    "sealed_prediction_bytes",
    "table_bytes",
]

DAMAGED = (pa.ArrowException, OSError, KeyError, TypeError, ValueError)
"""What reading a damaged file raises."""

_EXAMPLE = ("example", "label", "image")
_ROW_GROUP = 2 << 20
"""Bytes of images in a row group, about: what is read to see one of them."""

_ALLOWED = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
)


def prediction_bytes(ranked: RankedClasses) -> bytes:
    """Return a file of one member's ranked classes, in the smallest integer type, and their probabilities if known."""
    return _prediction_bytes(ranked, {})


def sealed_prediction_bytes(ranked: RankedClasses, origin: Mapping[str, Any]) -> bytes:
    """The same, with a checksum and with what they were made from, plain JSON values.

    Example:
        >>> content = sealed_prediction_bytes(RankedClasses(np.array([[1, 0]])), {"seed": 3})
        >>> read_sealed_predictions(content)
        (RankedClasses(classes=array([[1, 0]], dtype=uint8), probabilities=None), {'seed': 3})
    """
    said = json.dumps(dict(origin))
    return _prediction_bytes(ranked, {"origin": said, "sha256": _digest(ranked, said)})


def _prediction_bytes(ranked: RankedClasses, notes: Mapping[str, str]) -> bytes:
    arrays = {"ranked": ranked.classes.astype(np.min_scalar_type(int(ranked.classes.max())))}
    if ranked.probabilities is not None:
        arrays["probability"] = ranked.probabilities.astype(np.float32)
    k = ranked.classes.shape[1]
    lists = {name: pa.FixedSizeListArray.from_arrays(pa.array(array.ravel()), k) for name, array in arrays.items()}
    # Few classes fit a dictionary; probabilities hardly repeat, and would be stored twice: larger, and slower to read.
    table = pa.table(lists).replace_schema_metadata(dict(notes) or None)
    return _bytes(table, dictionaries=["ranked.list.element"])


def read_predictions(content: bytes) -> RankedClasses:
    """Return what `prediction_bytes` wrote; probabilities are float32."""
    return _ranked_classes(_read_whole(content))


def read_sealed_predictions(content: bytes) -> tuple[RankedClasses, dict[str, Any]]:
    """Return what `sealed_prediction_bytes` wrote: the ranked classes, and what they were made from.

    Raises:
        Exception: one of `DAMAGED`.
    """
    table = _read_whole(content)
    ranked = _ranked_classes(table)
    notes = _notes(table.schema)
    if _digest(ranked, notes["origin"]) != notes["sha256"]:
        raise OSError("the predictions are not what was written")
    return ranked, json.loads(notes["origin"])


def example_bytes(
    labels: np.ndarray,
    ids: Sequence[str],
    class_names: Sequence[str],
    images: Sequence[bytes],
    groups: pd.DataFrame | None = None,
) -> bytes:
    """The `(N,)` examples of a split and what they belong to.

    Raises:
        InputError: a column of `groups` has a name that is taken, another length, or values that are neither text nor
            numbers.
    """
    shown = {"example": pa.array(ids, pa.string()), "label": pa.array(labels), "image": pa.array(images, pa.binary())}
    belongs = {} if groups is None else _columns(groups, "groups")
    for name, values in belongs.items():
        if name in _EXAMPLE:
            raise InputError(f"groups: a column is called {name!r}; {', '.join(_EXAMPLE)} are taken")
        if len(values) != len(labels):
            raise InputError(f"groups: {len(values)} rows for {len(labels)} examples")
    table = pa.table({**shown, **belongs})
    notes = {"class_names": json.dumps(list(class_names)), "groups": json.dumps(list(belongs))}
    seals = {
        "sha256": _seal(table, _EXAMPLE[:2], notes["class_names"]),
        "images_sha256": _image_seal(images),
        "groups_sha256": _seal(table, [*belongs]),
    }
    parts = sum(map(len, images)) // _ROW_GROUP + 1
    # Images do not repeat: a dictionary would hold some of them twice.
    repeating = [name for name in table.column_names if name != "image"]
    return _bytes(table.replace_schema_metadata({**notes, **seals}), repeating, rows=-(-len(labels) // parts))


def read_examples(file: BinaryIO, *, images: bool, groups: bool) -> pd.DataFrame:
    """What `example_bytes` wrote; `.attrs` hold `class_names` and `groups`, the names of the further columns.

    Raises:
        Exception: one of `DAMAGED`.
    """
    stored = _open(file)
    notes = _notes(stored.schema_arrow)
    belongs = json.loads(notes.get("groups", "[]")) if groups else []
    columns = [*_EXAMPLE[: 2 + images], *belongs]
    table = stored.read(columns).select(columns)  # reading alone passes over a column that is not there
    if _seal(table, _EXAMPLE[:2], notes["class_names"]) != notes["sha256"]:
        raise OSError("ids, labels or class names are not what was written")
    if belongs and _seal(table, belongs) != notes["groups_sha256"]:
        raise OSError("groups are not what was written")
    frame = table.to_pandas()
    if images and "images_sha256" in notes and _image_seal(frame["image"]) != notes["images_sha256"]:
        raise OSError("images are not what was written")
    frame.attrs = {"class_names": json.loads(notes["class_names"]), "groups": belongs}
    return frame


def examples_seal(file: BinaryIO) -> str:
    """Stands for the ids, labels, class names and images that `example_bytes` wrote; it reads none of them.

    Raises:
        Exception: one of `DAMAGED`.
    """
    notes = _notes(_open(file).schema_arrow)
    return hashlib.sha256(f"{notes['sha256']} {notes.get('images_sha256')}".encode()).hexdigest()


def read_images(file: BinaryIO, positions: Sequence[int]) -> list[bytes]:
    """The images of some examples that `example_bytes` wrote; only the row groups that hold them are read.

    Raises:
        IndexError: there is no such position.
        Exception: one of `DAMAGED`.
    """
    stored = _open(file)
    sizes = [stored.metadata.row_group(i).num_rows for i in range(stored.num_row_groups)]
    ends = np.cumsum(sizes)
    if sum(sizes) != stored.metadata.num_rows:
        raise OSError("the row groups do not hold the rows of the file")
    wanted = np.asarray(positions, np.int64)
    if ((wanted < 0) | (wanted >= sum(sizes))).any():
        raise IndexError(f"{list(positions)}, allowed are 0 to {sum(sizes) - 1}")
    groups = np.searchsorted(ends, wanted, side="right")
    columns = {group: stored.read_row_group(group, ["image"])["image"] for group in np.unique(groups)}
    return [columns[group][int(i - ends[group])].as_py() for group, i in zip(groups, wanted, strict=True)]


def table_bytes(table: pd.DataFrame) -> bytes:
    """Facts about the classes, one row each.

    Raises:
        InputError: a column holds neither text nor numbers.
    """
    columns = pa.table(_columns(table, "classes"))
    return _bytes(columns.replace_schema_metadata({"sha256": _seal(columns, columns.column_names)}))


def read_facts(content: bytes) -> pd.DataFrame:
    """What `table_bytes` wrote.

    Raises:
        Exception: one of `DAMAGED`.
    """
    table = _open(io.BytesIO(content)).read()
    if _seal(table, table.column_names) != table.schema.metadata[b"sha256"].decode():
        raise OSError("the facts are not what was written")
    return table.replace_schema_metadata().to_pandas()


def _columns(frame: pd.DataFrame, argument: str) -> dict[str, pa.Array]:
    names = list(frame.columns)
    if len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{argument}: columns are called {names}; names must be text, and differ")
    return {str(name): _values(frame[name], argument) for name in names}


def _values(column: pd.Series, argument: str) -> pa.Array:
    """A column as text, numbers or booleans; missing values stay missing."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    refused = InputError(argument, f"column {column.name!r} holds {column.dtype} values", "text or numbers")
    try:
        values = pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError):  # of several types
        raise refused from None
    if not any(fits(values.type) for fits in _ALLOWED):
        raise refused
    return values


def _seal(table: pa.Table, columns: Sequence[str], *further: str) -> str:
    facts = [*(table[name].to_pylist() for name in columns), *further]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _image_seal(images: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for image in images:
        digest.update(len(image).to_bytes(8, "little"))
        digest.update(image)
    return digest.hexdigest()


def _notes(schema: pa.Schema) -> dict[str, str]:
    return {key.decode(): text.decode() for key, text in (schema.metadata or {}).items()}


def _bytes(table: pa.Table, dictionaries: list[str] | bool = True, rows: int | None = None) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, rows, compression="zstd", write_page_checksum=True, use_dictionary=dictionaries)
    return buffer.getvalue()


def _open(file: BinaryIO) -> pq.ParquetFile:
    return pq.ParquetFile(file, page_checksum_verification=True)


def _read_whole(content: bytes) -> pa.Table:
    return pq.read_table(pa.BufferReader(content), pre_buffer=False)  # it is in memory


def _ranked_classes(table: pa.Table) -> RankedClasses:
    probabilities = _matrix(table["probability"]) if "probability" in table.column_names else None
    return RankedClasses(_matrix(table["ranked"]), probabilities)


def _digest(ranked: RankedClasses, said: str) -> str:
    """Over the shape, and the values in types of one width whatever they are stored in."""
    digest = hashlib.sha256(f"{ranked.classes.shape} {said}".encode())
    digest.update(ranked.classes.astype("<i4").tobytes())
    if ranked.probabilities is not None:
        digest.update(ranked.probabilities.astype("<f4").tobytes())
    return digest.hexdigest()


def _matrix(column: pa.ChunkedArray) -> np.ndarray:
    array = column.combine_chunks()
    return array.flatten().to_numpy().reshape(len(array), -1)
