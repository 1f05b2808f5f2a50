"""CSV and Parquet files, read by column and by block."""

import collections
import contextlib
import csv
import functools
import io
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from tfaudit.errors import InputError, one_line, plural
from tfaudit.runtime.names import clean_table, clean_texts

_BLOCK_VALUES = 2**22
_BLOCK_BYTES = 2**24
_CELL = 1000
"""Most characters of an id or a class: an array of text gives every cell the room of the longest."""

_ROWS, _ROWS_PER_BYTE = 2**22, 16
"""A Parquet file of more rows, and more than so many for each of its bytes, is refused."""

_TEXT_BYTES = 2**30
"""Most bytes of such an array."""

NUMBERS, WHOLE_NUMBERS, TEXT, FLAGS, BLANK, OTHER = (
    "numbers",
    "whole numbers",
    "text",
    "true or false",
    "empty",
    "values that are neither numbers nor text",
)
"""What a column holds."""

MISSING = frozenset({"NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NULL", "null"})
"""What R, pandas, NumPy, SQL and spreadsheets write for a missing value."""

_NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_WHITE = b" \t\r\n"


class TableFile:
    """A table with a header: CSV (comma-separated, UTF-8) or Parquet.

    Attributes:
        path: path of the file.
        columns: names of the columns; column 2 without a name is "Unnamed: 2", as pandas calls it.
        index: columns that pandas wrote as the index of a frame: by the metadata of Parquet, or the first column of
            CSV, if it has no name.

    Raises:
        InputError: the file cannot be read, is empty or damaged, or two columns have the same name.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._parquet = path.suffix.lower() == ".parquet"
        try:
            if path.stat().st_size == 0:
                raise InputError(str(path), "an empty file", "a table with a header")
            self.columns, self.index = (
                self._parquet_names() if self._parquet else self._csv_header()
            )
        except OSError as problem:
            got = f"an unreadable file ({problem.strerror or one_line(problem)})"
            raise InputError(str(path), got, "a readable one") from None
        except InputError:
            raise
        except (pa.ArrowException, ValueError, csv.Error):
            raise self._damaged() from None
        for name, times in collections.Counter(self.columns).most_common(1):
            if times > 1:
                raise InputError(str(path), f"two columns {name!r}", "columns with different names")

    @functools.cached_property
    def kinds(self) -> dict[str, str]:
        """What each column holds: one of the kinds above. In CSV the first rows decide."""
        if self._parquet:
            schema = self._guarded(lambda: pq.read_schema(self.path))
        else:
            with self._csv(self.columns) as batches:
                schema = batches.schema
        return {name: _kind(schema.field(name).type) for name in self.columns}

    def is_numeric(self, column: str) -> bool:
        """Return whether a column holds numbers."""
        return self.kinds[column] in (NUMBERS, WHOLE_NUMBERS)

    @functools.cached_property
    def rows(self) -> int:
        """Number of rows."""
        if self._parquet:
            return self._guarded(lambda: pq.read_metadata(self.path).num_rows)
        with self._csv(self.columns[:1], pa.string()) as batches:
            return self._guarded(lambda: sum(len(batch) for batch in batches))

    def text(self, column: str) -> np.ndarray:
        """Return a column `(rows,)` as text, also numbers of a Parquet file; refuse empty cells."""
        values = self.cells(column)
        missing = np.flatnonzero(values == "")
        if len(missing):
            cells = plural(len(missing), "empty cell")
            empty = f"{cells} in column {column!r}, first in row {missing[0]}"
            raise InputError(str(self.path), empty, "a value in every row")
        return values

    def cells(self, column: str) -> np.ndarray:
        """Return a column `(rows,)` as text; an empty cell is an empty text."""
        if self._parquet:
            stored = self._guarded(lambda: pq.read_table(self.path, columns=[column])[column])
            if _kind(stored.type) == OTHER:
                got = f"{stored.type} values in column {column!r}"
                raise InputError(str(self.path), got, "numbers or text")
            # Offsets beyond a buffer would crash the process.
            self._guarded(lambda: stored.validate(full=True))
            values = self._guarded(stored.to_pandas)
        else:
            with self._csv([column], pa.string()) as batches:
                values = self._guarded(lambda: batches.read_all()[column].to_pandas()).str.strip()
        text = values.astype(object).where(values.notna(), "").astype(str)
        longest = int(text.str.len().max()) if len(text) else 0
        if longest > _CELL:
            got = f"a cell of {longest:,} characters in column {column!r}"
            raise InputError(str(self.path), got, f"at most {_CELL:,}")
        if 4 * longest * len(text) > _TEXT_BYTES:
            got = f"{len(text):,} cells of up to {longest} characters in column {column!r}"
            raise InputError(str(self.path), got, "shorter ones, or fewer")
        return clean_texts(np.array(text, dtype=str), f"{self.path}, {column}")

    def numbers(self, columns: Sequence[str]) -> Iterator[np.ndarray]:
        """Yield blocks of numbers `(rows, columns)`; an empty cell is NaN, and text is refused."""
        source = (
            self._parquet_batches(columns) if self._parquet else self._csv(columns, pa.float64())
        )
        with source as batches:
            while (batch := self._guarded(lambda: next(iter(batches), None))) is not None:
                for field in batch.schema:
                    if not (pa.types.is_integer(field.type) or pa.types.is_floating(field.type)):
                        kind = str(field.type).removeprefix("large_").replace("string", "text")
                        got = f"{kind} values in column {field.name!r}"
                        raise InputError(str(self.path), got, "numbers")
                yield np.stack(
                    [batch[name].to_numpy(zero_copy_only=False) for name in columns], axis=1
                )

    def frame(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Return some columns, or all: numbers where every cell is one, else text; an empty cell is missing.

        "None" and "NA" are texts, and "01" is none of the numbers, since these are names of groups; only in a column
        of numbers "NA" and "NaN" are missing.
        """
        if self._parquet:
            stored = self._guarded(lambda: pq.read_table(self.path))
            self._guarded(lambda: stored.validate(full=True))
            frame = self._guarded(lambda: stored.to_pandas(ignore_metadata=True))
        else:
            with self._csv(self.columns, pa.string()) as batches:
                cells = self._guarded(batches.read_all)
            frame = pd.DataFrame({name: _values(cells[name]) for name in self.columns})
        frame = frame[[*self.columns] if columns is None else [*columns]]
        return clean_table(frame, str(self.path))

    def _parquet_names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        metadata = pq.read_metadata(self.path)
        if metadata.num_rows > max(_ROWS, _ROWS_PER_BYTE * self.path.stat().st_size):
            got = f"{metadata.num_rows:,} rows in {self.path.stat().st_size:,} bytes"
            raise InputError(str(self.path), got, "rows that differ; these would fill the memory")
        schema = metadata.schema.to_arrow_schema()
        written = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        index = [name for name in written.get("index_columns", ()) if name in schema.names]
        return tuple(schema.names), tuple(index)

    def _csv_header(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        with self.path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file)
            header = [name.strip() for name in next(rows, [])]
            self._header_lines = rows.line_num
        if len(header) == 1 and (separators := {*";\t"}.intersection(header[0])):
            got = f"columns separated by {min(separators)!r}"
            raise InputError(str(self.path), got, "columns separated by commas")
        columns = tuple(name or f"Unnamed: {i}" for i, name in enumerate(header))
        return columns, columns[:1] if columns[:1] == ("Unnamed: 0",) else ()

    def _csv(
        self, columns: Sequence[str], kind: pa.DataType | None = None
    ) -> pa.csv.CSVStreamingReader:
        """Return batches of some columns, of the types that the first rows show or of one type.

        Every row must be as long as the header. An empty line is a row of empty cells, unless only such lines follow.
        """
        # With threads, errors do not always name the row.
        names = list(self.columns)
        read = pa.csv.ReadOptions(
            use_threads=False,
            block_size=_BLOCK_BYTES,
            skip_rows=self._header_lines,
            column_names=names,
        )
        parse = pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
        convert = pa.csv.ConvertOptions(
            include_columns=list(columns),
            column_types=dict.fromkeys(columns, kind) if kind else None,
        )
        return self._guarded(lambda: pa.csv.open_csv(self._rows_alone(), read, parse, convert))

    def _rows_alone(self) -> Path | BinaryIO:
        """Return the file, or its content without the empty lines at its end."""
        with self.path.open("rb") as file:
            file.seek(max(0, self.path.stat().st_size - _BLOCK_BYTES))
            end = file.read()
            blank = end[len(end.rstrip(_WHITE)) :]
            if blank.count(b"\n") + blank.count(b"\r") - blank.count(b"\r\n") < 2:
                return self.path
            file.seek(0)
            return io.BytesIO(file.read().rstrip(_WHITE))

    @contextlib.contextmanager
    def _parquet_batches(self, columns: Sequence[str]) -> Iterator[Iterator[pa.RecordBatch]]:
        with self._guarded(
            lambda: pq.ParquetFile(self.path, page_checksum_verification=True)
        ) as file:
            yield file.iter_batches(max(1, _BLOCK_VALUES // len(columns)), columns=list(columns))

    def _guarded(self, read: Any) -> Any:
        try:
            return read()
        except pa.ArrowInvalid as problem:
            reason = re.search(r"CSV (?:parse|conversion) error.*", str(problem))
            if reason is None:
                raise self._damaged() from None
            expected = "a value of the right type in every cell"
            raise InputError(str(self.path), f"a {reason[0]}", expected) from None
        except InputError:
            raise
        except (pa.ArrowException, OSError, ValueError):
            raise self._damaged() from None

    def _damaged(self) -> InputError:
        kind = "Parquet" if self._parquet else "CSV in UTF-8"
        return InputError(str(self.path), "a damaged or truncated file", kind)


def _kind(kind: pa.DataType) -> str:
    """Return what a column of an Arrow type holds."""
    types = pa.types
    if types.is_dictionary(kind):
        return _kind(kind.value_type)
    kinds = {
        WHOLE_NUMBERS: (types.is_integer,),
        NUMBERS: (types.is_floating, types.is_decimal),
        FLAGS: (types.is_boolean,),
        BLANK: (types.is_null,),
        OTHER: (types.is_nested, types.is_binary, types.is_large_binary),
    }
    return next((name for name, tests in kinds.items() if any(test(kind) for test in tests)), TEXT)


def _values(cells: pa.ChunkedArray) -> pd.Series:
    """Return cells of text as numbers if all are, or all but missing ones; a column of 1 and 01 stays text.

    Example:
        >>> [_values(pa.chunked_array([cells])).tolist() for cells in (["1", "2.5", "NA"], ["1", "01", ""])]
        [[1.0, 2.5, nan], ['1', '01', nan]]
    """
    encoded = cells.combine_chunks().dictionary_encode()
    texts = pd.Series(encoded.dictionary.to_pylist(), dtype=object).str.strip()
    numbers = texts[(texts != "") & ~texts.isin(MISSING)]
    if len(numbers) and all(map(_NUMBER.fullmatch, numbers)):
        values = pd.to_numeric(numbers).reindex(texts.index)
    else:
        values = texts.where(texts != "", np.nan)
    return values.take(encoded.indices.to_numpy()).reset_index(drop=True)
