"""Parquet files of a study, read and written: predictions of a member, examples of a split, tables of facts.

Checksums cover the values that statistics use; Parquet's own cover single pages and skip columns that are not read.
"""

import io
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tfaudit.errors import InputError
from tfaudit.runtime.names import clean_names, clean_table
from tfaudit.runtime.seals import seal, seal_of_parts
from tfaudit.stats.copies import notes_on_copies
from tfaudit.stats.group_codes import CLUSTER
from tfaudit.stats.ranking import RankedClasses
from tfaudit.stats.ties import Ties

DAMAGED = (
    pa.ArrowException,
    OSError,
    KeyError,
    TypeError,
    ValueError,
)  # exceptions that reading a damaged file raises

_EXAMPLE = ("example", "label", "image")
_ROW_GROUP = (
    2 << 20
)  # approximate bytes of images per row group, which is read as a whole to show one image

_ROWS_AT_ONCE = 2**16
"""Rows that a checksum takes as Python's objects at once."""

_ALLOWED = [
    getattr(pa.types, f"is_{kind}")
    for kind in ("string", "large_string", "boolean", "integer", "floating")
]


def prediction_bytes(ranked: RankedClasses, origin: Mapping[str, Any] | None = None) -> bytes:
    """Encode one member's predictions.

    Args:
        ranked: the predictions; classes are stored in the smallest integer type, probabilities as float32, and classes
            that tie for the first place as a list, which is empty for examples without ties.
        origin: JSON values that identify the model; stored with a checksum, for `read_sealed_predictions`.

    Example:
        >>> read_sealed_predictions(prediction_bytes(RankedClasses(np.array([[1, 0]])), {"seed": 3}))
        (RankedClasses(classes=array([[1, 0]], dtype=uint8), probabilities=None), {'seed': 3})
    """
    arrays = {"ranked": ranked.classes.astype(np.min_scalar_type(int(ranked.classes.max())))}
    if ranked.probabilities is not None:
        arrays["probability"] = ranked.probabilities.astype(np.float32)
    k = ranked.classes.shape[1]
    lists = {
        name: pa.FixedSizeListArray.from_arrays(pa.array(array.ravel()), k)
        for name, array in arrays.items()
    }
    if ranked.ties:
        ends = np.searchsorted(ranked.ties.rows, np.arange(len(ranked.classes) + 1))
        lists["tied"] = pa.ListArray.from_arrays(
            pa.array(ends, pa.int32()), pa.array(ranked.ties.classes, pa.int32())
        )
    notes = None
    if origin is not None:
        text = json.dumps(dict(origin))
        notes = {"origin": text, "sha256": _ranked_seal(ranked, text)}
    # Few classes fit a dictionary; probabilities hardly repeat, so a dictionary would be larger and slower to read.
    return _bytes(
        pa.table(lists).replace_schema_metadata(notes), dictionaries=["ranked.list.element"]
    )


def read_predictions(content: bytes) -> RankedClasses:
    """Decode `prediction_bytes`."""
    return _ranked_classes(_read_whole(content))


def read_classes(file: BinaryIO) -> tuple[RankedClasses, bool]:
    """Read predictions without their probabilities, and whether there are any; damage raises one of `DAMAGED`."""
    stored = _open(file)
    names = stored.schema_arrow.names
    columns = [name for name in names if name != "probability"]
    parts = [_ranked_classes(table) for table in _row_groups(stored, columns)]
    sizes = [len(part.classes) for part in parts]
    classes = np.concatenate([part.classes for part in parts])
    ties = Ties.joined([part.ties for part in parts], sizes)
    return RankedClasses(classes, ties=ties), "probability" in names


def read_probabilities(file: BinaryIO) -> np.ndarray:
    """Read the probabilities of predictions, `(N, k)`; damage raises one of `DAMAGED`."""
    tables = _row_groups(_open(file), ["probability"])
    return np.concatenate([_probabilities(table) for table in tables])


def holds_probabilities(file: Path) -> bool:
    """Return whether predictions hold probabilities, without reading them; damage raises one of `DAMAGED`."""
    return "probability" in pq.read_schema(file).names


def read_sealed_predictions(content: bytes) -> tuple[RankedClasses, dict[str, Any]]:
    """Decode `prediction_bytes` with an origin: predictions, origin of the model. Damage raises one of `DAMAGED`."""
    table = _read_whole(content)
    ranked = _ranked_classes(table)
    notes = _notes(table.schema)
    if _ranked_seal(ranked, notes["origin"]) != notes["sha256"]:
        raise OSError("predictions do not match their checksum")
    return ranked, json.loads(notes["origin"])


def example_bytes(
    labels: np.ndarray,
    ids: Sequence[str],
    class_names: Sequence[str],
    images: Sequence[bytes],
    groups: pd.DataFrame | None = None,
    *,
    split: str = "test",
    remarks: Sequence[str] = (),
    listed: bool = True,
) -> bytes:
    """Encode the N examples of a split, their groups, and sentences about them, to which exact copies add one.

    Raises:
        InputError: a column of `groups` has a reserved name, another length, or values that are neither text nor
            numbers.
    """
    columns = {
        "example": pa.array(ids, pa.string()),
        "label": pa.array(labels),
        "image": pa.array(images, pa.binary()),
    }
    group_columns = {} if groups is None else _columns(groups, "groups")
    for name, values in group_columns.items():
        if name in _EXAMPLE:
            raise InputError(
                "groups", f"a column {name!r}", f"other names than {', '.join(_EXAMPLE)}"
            )
        if len(values) != len(labels):
            raise InputError("groups", f"{len(values)} rows", f"{len(labels)}, one per example")
    table = pa.table({**columns, **group_columns})
    notes = {
        "class_names": json.dumps(list(class_names)),
        "groups": json.dumps(list(group_columns)),
        "split": split,
    }
    if not listed:
        notes["listed"] = json.dumps(listed)
    if remarks:
        notes["remarks"] = json.dumps(list(remarks))
    clusters = None if groups is None or CLUSTER not in groups else groups[CLUSTER].to_numpy()
    if copies := notes_on_copies(images, clusters):
        notes["copies"] = json.dumps(copies)
    seals = {
        "sha256": _identity_seal(table, notes),
        "images_sha256": seal_of_parts(images),
        "groups_sha256": _group_seal(table, [*group_columns], notes),
    }
    parts = sum(map(len, images)) // _ROW_GROUP + 1
    # Images do not repeat: a dictionary would store some of them twice.
    repeating = [name for name in table.column_names if name != "image"]
    return _bytes(
        table.replace_schema_metadata({**notes, **seals}), repeating, rows=-(-len(labels) // parts)
    )


def read_examples(file: BinaryIO, *, images: bool, groups: bool) -> pd.DataFrame:
    """Decode `example_bytes`; damage raises one of `DAMAGED`.

    `.attrs` holds `class_names`, whether they are `listed` (`Predictions`), the names of `groups`, the `split`, whether
    there is a column `cluster` (`clustered`), and the `remarks` that were given.
    """
    stored = _open(file)
    notes = _notes(stored.schema_arrow)
    clustered = CLUSTER in json.loads(notes["groups"])
    group_names = json.loads(notes["groups"]) if groups else []
    columns = [*_EXAMPLE[: 2 + images], *group_names]
    table = stored.read(columns).select(
        columns
    )  # `read` ignores a missing column, `select` does not
    table.validate(full=True)
    if _identity_seal(table, notes) != notes["sha256"]:
        raise OSError("ids, labels or class names do not match their checksum")
    if groups and _group_seal(table, group_names, notes) != notes["groups_sha256"]:
        raise OSError("groups do not match their checksum")
    frame = table.to_pandas()
    if images and seal_of_parts(frame["image"]) != notes["images_sha256"]:
        raise OSError("images do not match their checksum")
    frame = clean_table(frame, "examples")
    class_names = json.loads(notes["class_names"])
    frame.attrs = {
        "class_names": list(clean_names(class_names, "class_names")),
        "groups": list(clean_names(group_names, "groups")),
        "split": notes["split"],
        "clustered": clustered,
        "listed": json.loads(notes.get("listed", "true")),
        "remarks": json.loads(notes.get("remarks", "[]")),
    }
    return frame


def read_remarks(file: BinaryIO) -> tuple[str, ...]:
    """Return the sentences about the examples, which `read_examples` checks; damage raises one of `DAMAGED`."""
    notes = _notes(_open(file).schema_arrow)
    remarks = (json.loads(notes.get(name, "[]")) for name in ("remarks", "copies"))
    return tuple(dict.fromkeys(itertools.chain.from_iterable(remarks)))


def examples_seal(file: BinaryIO) -> str:
    """Return a checksum of ids, labels, class names and images without reading them; damage raises one of `DAMAGED`."""
    notes = _notes(_open(file).schema_arrow)
    return seal(f"{notes['sha256']} {notes['images_sha256']}")


def identity_seal(file: BinaryIO) -> str:
    """Return the checksum of ids, labels and class names without reading them; damage raises one of `DAMAGED`."""
    return _notes(_open(file).schema_arrow)["sha256"]


def read_images(file: BinaryIO, positions: Sequence[int]) -> list[bytes]:
    """Return the images at some positions of a file that `example_bytes` wrote; reads only their row groups.

    Raises:
        IndexError: there is no such position; the message names the allowed ones.
        Exception: the file is damaged, one of `DAMAGED`.
    """
    stored = _open(file)
    sizes = [stored.metadata.row_group(i).num_rows for i in range(stored.num_row_groups)]
    ends = np.cumsum(sizes)
    if sum(sizes) != stored.metadata.num_rows:
        raise OSError("the row groups do not hold all rows of the file")
    wanted = np.asarray(positions, np.int64)
    if ((wanted < 0) | (wanted >= sum(sizes))).any():
        raise IndexError(f"0 to {sum(sizes) - 1}")
    groups = np.searchsorted(ends, wanted, side="right")
    columns = {
        group: stored.read_row_group(group, ["image"])["image"] for group in np.unique(groups)
    }
    images = [
        columns[group][int(i - ends[group])].as_py()
        for group, i in zip(groups, wanted, strict=True)
    ]
    if not all(isinstance(image, bytes) for image in images):
        raise OSError("images that are no bytes")
    return images


def table_bytes(table: pd.DataFrame) -> bytes:
    """Encode a table of facts; a column that holds neither text nor numbers raises `InputError`."""
    columns = pa.table(_columns(table, "classes"))
    names = columns.column_names
    return _bytes(columns.replace_schema_metadata({"sha256": _seal(columns, names, *names)}))


def read_table(content: bytes) -> pd.DataFrame:
    """Decode `table_bytes`; damage raises one of `DAMAGED`."""
    table = _open(io.BytesIO(content)).read()
    names = table.column_names
    if _notes(table.schema)["sha256"] != _seal(table, names, *names):
        raise OSError("the table does not match its checksum")
    return table.replace_schema_metadata().to_pandas()


def _columns(frame: pd.DataFrame, argument: str) -> dict[str, pa.Array]:
    names = list(frame.columns)
    if len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
        raise InputError(argument, f"columns called {names}", "distinct names of text")
    return {str(name): _values(frame[name], argument) for name in names}


def _values(column: pd.Series, argument: str) -> pa.Array:
    """Return a column as text, numbers or booleans; missing values stay missing."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    error = InputError(
        argument, f"{column.dtype} values in column {column.name!r}", "text or numbers"
    )
    try:
        values = pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError):  # of several types
        raise error from None
    if not any(fits(values.type) for fits in _ALLOWED):
        raise error
    return values


def _identity_seal(table: pa.Table, notes: Mapping[str, str]) -> str:
    """Return the checksum of ids and labels, and of the notes that explain them."""
    said = [notes[name] for name in ("class_names", "split", "remarks", "listed") if name in notes]
    return _seal(table, _EXAMPLE[:2], *said)


def _group_seal(table: pa.Table, names: Sequence[str], notes: Mapping[str, str]) -> str:
    """Return the checksum of the groups, and of the sentence about copies, which depends on the clusters."""
    return _seal(table, names, *(notes[name] for name in ("copies",) if name in notes))


def _seal(table: pa.Table, columns: Sequence[str], *further: str) -> str:
    """Return the seal of the values of columns, and of further texts."""
    values = (
        json.dumps([name, table[name].slice(start, _ROWS_AT_ONCE).to_pylist()])
        for name in columns
        for start in range(0, len(table), _ROWS_AT_ONCE)
    )
    return seal_of_parts(text.encode() for text in itertools.chain(further, values))


def _notes(schema: pa.Schema) -> dict[str, str]:
    return {key.decode(): text.decode() for key, text in (schema.metadata or {}).items()}


def _bytes(
    table: pa.Table, dictionaries: list[str] | bool = True, rows: int | None = None
) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(
        table,
        buffer,
        rows,
        compression="zstd",
        write_page_checksum=True,
        use_dictionary=dictionaries,
    )
    return buffer.getvalue()


def _open(file: BinaryIO) -> pq.ParquetFile:
    return pq.ParquetFile(file, page_checksum_verification=True)


def _row_groups(stored: pq.ParquetFile, columns: list[str]) -> Iterator[pa.Table]:
    """Yield some columns, one row group after the other, so that only one is in memory."""
    for i in range(stored.num_row_groups):
        table = stored.read_row_group(i, columns).select(columns)
        table.validate(full=True)  # offsets beyond a buffer would crash the process
        yield table


def _read_whole(content: bytes) -> pa.Table:
    table = pq.read_table(pa.BufferReader(content), pre_buffer=False)  # it is in memory already
    table.validate(full=True)  # offsets beyond a buffer would crash the process
    return table


def _ranked_classes(table: pa.Table) -> RankedClasses:
    probabilities = _probabilities(table) if "probability" in table.column_names else None
    classes = _matrix(_lists(table["ranked"], pa.types.is_integer))
    return RankedClasses(classes, probabilities, _ties(table))


def _probabilities(table: pa.Table) -> np.ndarray:
    return _matrix(_lists(table["probability"], pa.types.is_floating))


def _ties(table: pa.Table) -> Ties:
    if "tied" not in table.column_names:
        return Ties.none()
    lists = _lists(table["tied"], pa.types.is_integer)
    sizes = lists.value_lengths().to_numpy()
    return Ties(
        np.repeat(np.arange(len(sizes)), sizes), lists.flatten().to_numpy().astype(np.int64)
    )


def _ranked_seal(ranked: RankedClasses, origin: str) -> str:
    """Return the seal of the shape, the origin and the values in fixed types, independent of the stored types."""
    arrays = {"<i4": [ranked.classes], "<i8": [ranked.ties.rows, ranked.ties.classes]}
    if ranked.probabilities is not None:
        arrays["<f4"] = [ranked.probabilities]
    values = (array.astype(kind).tobytes() for kind in arrays for array in arrays[kind])
    return seal_of_parts([f"{ranked.classes.shape} {origin}".encode(), *values])


def _lists(column: pa.ChunkedArray, fits: Callable[[pa.DataType], bool]) -> Any:
    """Return a column of lists whose values have a type that fits; raise `OSError` for any other."""
    is_list = pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type)
    if not is_list or not fits(column.type.value_type):
        raise OSError(f"a column of {column.type}")
    lists = column.combine_chunks()
    if lists.null_count or lists.flatten().null_count:
        raise OSError("missing values")
    return lists


def _matrix(lists: Any) -> np.ndarray:
    if pa.types.is_list(lists.type) and len(lists.value_lengths().unique()) != 1:
        raise OSError("lists that differ in length")
    return lists.flatten().to_numpy().reshape(len(lists), -1)
