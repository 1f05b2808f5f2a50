"""Results of audits as bytes and back, without pickle, which executes what it reads.

A result is a frozen dataclass. The types of its fields decide how each is written and read; nothing in the bytes names
a class. The bytes are a ZIP archive: `result.json` with plain values, an `.npy` file per array, and an Arrow file per
table (Parquet would lose the categories of numbers and takes twice as long). The comment of the archive is the SHA-256
of everything before it.
"""

import dataclasses
import functools
import io
import json
import types
import zipfile
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.lib.format import read_array, write_array

from tfaudit.errors import InputError
from tfaudit.runtime.seals import sealed, unsealed

T = TypeVar("T")
_MISFITS = (
    zipfile.BadZipFile,
    pa.ArrowException,
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What reading something else as a result raises."""

Files: TypeAlias = dict[str, bytes]
"""Contents of the archive by name."""

_TREE = "result.json"


def pack(result: object, kind: Any = None, label: str = "") -> bytes:
    """Return a result as bytes with a label: a copy under another name is rejected.

    The result is a dataclass, or what its fields may be: arrays, tables, text, numbers, booleans, None, tuples and
    mappings of these (keys are text, numbers or tuples). Give the `kind`, its type, for types such as
    `tuple[Trends, ...]`.

    Raises:
        TypeError: a value has another type than its field, or an unsupported one.

    Example:
        >>> from tfaudit.stats.least_squares import Line, line
        >>> fit = line([0, 1, 2], [1, 3, 4])
        >>> unpack(pack(fit), Line) == fit
        True
    """
    files: Files = {}
    tree = _to_json(result, kind or type(result), files)
    files[_TREE] = json.dumps([label, tree]).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            archive.writestr(
                zipfile.ZipInfo(name), content
            )  # without the time: equal results are equal bytes
    return sealed(buffer.getvalue())


def unpack(content: bytes, kind: type[T], label: str = "") -> T:
    """Return the result that `pack` wrote; `kind`, its type, alone decides what is constructed.

    Raises:
        InputError: the bytes are damaged, or hold another type of result or one of another label.
    """
    try:
        body = unsealed(content)
    except ValueError:
        got = f"{len(content)} bytes, damaged or no result"
        raise InputError("content", got, "the bytes of a result") from None
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            if any(file.compress_type != zipfile.ZIP_STORED for file in archive.infolist()):
                raise ValueError("compressed, which `pack` never does: it could be a bomb")
            files = {name: archive.read(name) for name in archive.namelist()}
        written_for, tree = json.loads(files[_TREE])
        if written_for != label:
            raise ValueError(f"the result of {written_for}")
        return _from_json(tree, kind, files)
    except _MISFITS:
        name = getattr(kind, "__name__", kind)
        raise InputError(
            "content", "a result of another type or version", f"the type {name} of this version"
        ) from None


def _to_json(value: Any, hint: Any, files: Files) -> Any:
    """Return a value as JSON; put arrays and tables into files."""
    if hint in (Any, object):
        return _plain(value)
    if known := _known(hint):
        return None if value is None else _to_json(value, known, files)
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, _class(hint)):
        raise TypeError(f"{type(value).__name__} {value!r:.60}, where {hint} is expected")
    if dataclasses.is_dataclass(hint):
        return {
            name: _to_json(getattr(value, name), field, files)
            for name, field in _fields(hint).items()  # type: ignore[arg-type]
        }
    if isinstance(value, tuple):
        return _tuple_to_json(value, hint, files)
    if isinstance(value, Mapping):
        key, inner = get_args(hint)
        return [
            [_to_json(name, key, files), _to_json(item, inner, files)]
            for name, item in value.items()
        ]
    return _in_file(value, files) or _plain(value)


def _tuple_to_json(value: tuple[Any, ...], hint: Any, files: Files) -> list[Any]:
    if hint == tuple[str, ...] and all(type(item) is str for item in value):
        return list(value)  # names of many classes stand in many results
    return [
        _to_json(item, inner, files)
        for item, inner in zip(value, _inner(hint, len(value)), strict=True)
    ]


def _in_file(value: Any, files: Files) -> str:
    """Put an array or a table into a file and return its name; "" for other values."""
    for kind, (suffix, write, _) in _FILES.items():
        if isinstance(value, kind):
            name = f"{len(files)}.{suffix}"
            files[name] = write(value)
            return name
    return ""


def _tuple_from_json(tree: Any, hint: Any, files: Files) -> tuple[Any, ...]:
    first, *others = get_args(hint)
    if others == [...] and first in (str, float, int):  # a thousand names at once
        if not isinstance(tree, list) or not all(isinstance(item, _class(first)) for item in tree):
            raise TypeError(f"{tree!r:.60} is not a {hint}")
        return tuple(tree)
    kinds = _inner(hint, len(tree))
    return tuple(_from_json(item, kind, files) for item, kind in zip(tree, kinds, strict=True))


def _from_json(tree: Any, hint: Any, files: Files) -> Any:
    """Return the value that `_to_json` wrote."""
    if hint in (Any, object):
        return _plain(tree)
    if known := _known(hint):
        return None if tree is None else _from_json(tree, known, files)
    if dataclasses.is_dataclass(hint):
        fields = _fields(hint)  # type: ignore[arg-type]
        if tree.keys() != fields.keys():
            raise KeyError(*(tree.keys() ^ fields.keys()))
        return hint(
            **{name: _from_json(tree[name], field, files) for name, field in fields.items()}
        )  # type: ignore[operator]
    if issubclass(_class(hint)[0], tuple):
        return _tuple_from_json(tree, hint, files)
    if issubclass(_class(hint)[0], Mapping):
        key, inner = get_args(hint)
        return {_from_json(name, key, files): _from_json(item, inner, files) for name, item in tree}
    if hint in _FILES:
        return _FILES[hint][2](files[tree])
    if not isinstance(tree, _class(hint)):
        raise TypeError(f"{tree!r} is not a {hint}")
    return tree


@functools.cache
def _fields(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _class(hint: Any) -> tuple[type, ...]:
    """Return the types that a value may have."""
    return (float, int) if hint is float else (get_origin(hint) or hint,)


def _known(hint: Any) -> Any:
    """Return T of `T | None`; None of any other type."""
    if get_origin(hint) not in (Union, types.UnionType):
        return None
    return next(part for part in get_args(hint) if part is not type(None))


def _inner(hint: Any, count: int) -> tuple[Any, ...]:
    """Return the types of the items of a tuple."""
    inner = get_args(hint)
    return inner[:1] * count if inner[-1:] == (...,) else inner


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if value is not None and not isinstance(value, str | int | float):
        raise TypeError(
            f"{type(value).__name__} {value!r:.60}, where text, a number, a boolean or None is expected"
        )
    return value


def _array_bytes(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _table_bytes(table: pd.DataFrame) -> bytes:
    """Return a table as an Arrow file; columns of mixed types, which Arrow lacks, are JSON, cell by cell."""
    mixed = [i for i, kind in enumerate(table.dtypes) if pd.api.types.is_object_dtype(kind)]
    shown = table.copy(deep=False)
    for i in mixed:
        shown.isetitem(i, [json.dumps(_plain(cell)) for cell in table.iloc[:, i]])
    written = pa.Table.from_pandas(shown)
    notes = {
        "mixed": json.dumps(mixed),
        "attrs": json.dumps(table.attrs),
    }  # older libraries drop the attributes
    written = written.replace_schema_metadata({**(written.schema.metadata or {}), **notes})
    whole = [column.combine_chunks() for column in written.columns]
    buffer = io.BytesIO()
    # One batch, even of no rows: it holds the categories.
    with pa.ipc.new_file(buffer, written.schema) as file:
        file.write_batch(pa.RecordBatch.from_arrays(whole, schema=written.schema))
    return buffer.getvalue()


def _table(content: bytes) -> pd.DataFrame:
    written = pa.ipc.open_file(pa.BufferReader(content)).get_batch(0)
    written.validate(full=True)  # offsets beyond a buffer would crash the process
    table = written.to_pandas()
    for i in json.loads(written.schema.metadata[b"mixed"]):
        cells = [json.loads(cell) for cell in table.iloc[:, i]]
        table.isetitem(i, pd.Series(cells, table.index, object))
    table.attrs = json.loads(written.schema.metadata[b"attrs"])
    return table


def _series_bytes(series: pd.Series) -> bytes:
    table = series.to_frame("values")
    table.attrs = {"name": series.name, "attrs": series.attrs}
    return _table_bytes(table)


def _series(content: bytes) -> pd.Series:
    table = _table(content)
    series = table["values"].rename(table.attrs["name"])
    series.attrs = table.attrs["attrs"]
    return series


_FILES: dict[Any, tuple[str, Callable[[Any], bytes], Callable[[bytes], Any]]] = {
    np.ndarray: (
        "npy",
        _array_bytes,
        lambda content: read_array(io.BytesIO(content), allow_pickle=False),
    ),
    pd.DataFrame: ("arrow", _table_bytes, _table),
    pd.Series: ("series.arrow", _series_bytes, _series),
}
