"""CSV and Parquet files, read by column and by block."""

import collections
import contextlib
import csv
import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from tfaudit.errors import InputError, one_line
from tfaudit.runtime.names import clean_table, clean_texts

_BLOCK_VALUES = 2**22
_BLOCK_BYTES = 2**24
_CELL = 1000
"""Most characters of an id or a class: an array of text gives every cell the room of the longest."""

_ROWS, _ROWS_PER_BYTE = 2**22, 16
"""A Parquet file of more rows, and more than so many for each of its bytes, is refused."""

_TEXT_BYTES = 2**30
"""Most bytes of such an array."""


class TableFile:
    """A table with a header: CSV (comma-separated, UTF-8) or Parquet.

    Attributes:
        path: path of the file.
        columns: names of the columns.

    Raises:
        InputError: the file cannot be read, is empty or damaged, or two columns have the same name.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._parquet = path.suffix.lower() == ".parquet"
        try:
            if path.stat().st_size == 0:
                raise InputError(str(path), "an empty file", "a table with a header")
            self.columns = tuple(self._parquet_names() if self._parquet else self._csv_header())
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

    def find(self, names: Collection[str]) -> str | None:
        """Return the name of the column with one of these names, ignoring case; None without one. Refuse several."""
        matches = [name for name in self.columns if name.lower() in names]
        if len(matches) > 1:
            got = f"columns {', '.join(map(repr, matches))}"
            raise InputError(str(self.path), got, "only one of them")
        return matches[0] if matches else None

    @property
    def rows(self) -> int:
        """Number of rows."""
        if self._parquet:
            return self._guarded(lambda: pq.read_metadata(self.path).num_rows)
        with self._csv(self.columns[:1], pa.string()) as batches:
            return self._guarded(lambda: sum(len(batch) for batch in batches))

    def text(self, column: str) -> np.ndarray:
        """Return a column `(rows,)` as text, also numbers of a Parquet file; refuse empty cells."""
        if self._parquet:
            stored = self._guarded(lambda: pq.read_table(self.path, columns=[column])[column])
            kinds = (pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary)
            if any(is_kind(stored.type) for is_kind in kinds):
                got = f"{stored.type} values in column {column!r}"
                raise InputError(str(self.path), got, "numbers or text")
            # Offsets beyond a buffer would crash the process.
            self._guarded(lambda: stored.validate(full=True))
            values = self._guarded(stored.to_pandas)
        else:
            with self._csv([column], pa.string()) as batches:
                values = self._guarded(lambda: batches.read_all()[column].to_pandas()).str.strip()
        missing = np.flatnonzero(values.isna() | (values.astype(str) == ""))
        if len(missing):
            empty = f"{len(missing)} empty cells in column {column!r}, first in row {missing[0]}"
            raise InputError(str(self.path), empty, "a value in every row")
        text = values.astype(str)
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

    def frame(self, without: str | None = None) -> pd.DataFrame:
        """Return all columns, or all but one, in the dtypes that pandas infers."""
        if self._parquet:
            stored = self._guarded(lambda: pq.read_table(self.path))
            self._guarded(lambda: stored.validate(full=True))
            frame = self._guarded(lambda: stored.to_pandas(ignore_metadata=True))
        else:
            frame = self._guarded(self._read_csv)
        return clean_table(frame.drop(columns=[without] if without else []), str(self.path))

    def _read_csv(self) -> pd.DataFrame:
        return pd.read_csv(
            self.path,
            header=0,
            names=list(self.columns),
            index_col=False,
            skipinitialspace=True,
            low_memory=False,
            encoding="utf-8-sig",
        )

    def _parquet_names(self) -> list[str]:
        metadata = pq.read_metadata(self.path)
        if metadata.num_rows > max(_ROWS, _ROWS_PER_BYTE * self.path.stat().st_size):
            got = f"{metadata.num_rows:,} rows in {self.path.stat().st_size:,} bytes"
            raise InputError(str(self.path), got, "rows that differ; these would fill the memory")
        return metadata.schema.to_arrow_schema().names

    def _csv_header(self) -> list[str]:
        with self.path.open(encoding="utf-8-sig", newline="") as file:
            return [name.strip() for name in next(csv.reader(file), [])]

    def _csv(self, columns: Sequence[str], kind: pa.DataType) -> pa.csv.CSVStreamingReader:
        """Return batches of some columns; every row must be as long as the header."""
        # With threads, errors do not always name the row.
        names = list(self.columns)
        read = pa.csv.ReadOptions(
            use_threads=False, block_size=_BLOCK_BYTES, skip_rows=1, column_names=names
        )
        parse = pa.csv.ParseOptions(newlines_in_values=True)
        convert = pa.csv.ConvertOptions(
            include_columns=list(columns), column_types=dict.fromkeys(columns, kind)
        )
        return self._guarded(lambda: pa.csv.open_csv(self.path, read, parse, convert))

    @contextlib.contextmanager
    def _parquet_batches(self, columns: Sequence[str]) -> Iterator[Iterator[pa.RecordBatch]]:
        with self._guarded(
            lambda: pq.ParquetFile(self.path, page_checksum_verification=True)
        ) as file:
            yield file.iter_batches(max(1, _BLOCK_VALUES // len(columns)), columns=list(columns))

    def _guarded(self, read: Any) -> Any:
        try:
            with warnings.catch_warnings():
                # Rows longer than the header.
                warnings.simplefilter("error", pd.errors.ParserWarning)
                return read()
        except (pd.errors.ParserError, pd.errors.ParserWarning, pd.errors.EmptyDataError):
            got = "rows longer or shorter than the header"
            raise InputError(str(self.path), got, "as many cells in every row") from None
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
