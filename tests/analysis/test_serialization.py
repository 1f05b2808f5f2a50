"""Results come back from bytes as they were; damage is one line; nothing in the bytes names a class."""

import contextlib
import dataclasses
import importlib
import io
import json
import pkgutil
import re
import zipfile
from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from hypothesis.extra import pandas as pdst

import tfaudit.audits
import tfaudit.extensions
from tests.builders.equality import require_equal
from tests.builders.nightly import and_nightly
from tests.builders.results import RESULTS, result_of
from tfaudit.analysis.serialization import _MISFITS, _table, _table_bytes, pack, unpack
from tfaudit.audits.result import Result
from tfaudit.errors import InputError
from tfaudit.runtime import seals


def drawn(chart):
    """A chart as plain values; Altair numbers the views of a process."""
    return re.sub(r'"(view|param)_\d+', '"', json.dumps(chart.to_dict(), default=str))


@pytest.mark.slow
@pytest.mark.parametrize("name", RESULTS)
def test_every_result_comes_back_as_it_was(name):
    result = result_of(name)
    back = unpack(pack(result), type(result))
    require_equal(result, back)
    assert pack(back) == pack(result)
    for method in (
        "frame",
        "summary",
        "by_class",
        "individuals_frame",
        "flips_frame",
        "class_frame",
        "distribution",
    ):
        if hasattr(result, method):
            require_equal(getattr(result, method)(), getattr(back, method)())
    for method in ("chart", "severity_chart", "class_chart", "diagnostics_chart"):
        if getattr(type(result), method, Result.chart) is not Result.chart:
            assert drawn(getattr(result, method)()) == drawn(getattr(back, method)())
    if isinstance(result, Result):
        first, *_ = lines = str(back).splitlines()
        assert first.startswith(f"{type(result).__name__}: ")
        assert len(lines) <= 30
        assert max(map(len, lines)) <= 120


NOT_STORED = (
    "tfaudit.analysis",
    *(
        f"tfaudit.extensions.{name}"
        for name in (
            "costs",
            "distortion.study_distortion",
            "mixed_precision",
            "search",
            "shrinking",
        )
    ),
)
"""Packages and modules whose results are not stored."""


def test_no_result_is_left_out():
    modules = (
        importlib.import_module(m.name)
        for package in (tfaudit.audits, tfaudit.extensions)
        for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    )
    results = {
        thing
        for module in modules
        for thing in vars(module).values()
        if dataclasses.is_dataclass(thing) and hasattr(thing, "frame") and hasattr(thing, "summary")
        if not thing.__module__.startswith(NOT_STORED)
    }
    assert len(results) > 12
    assert results <= {type(result_of(name)) for name in RESULTS}


@dataclasses.dataclass(frozen=True)
class Inner:
    value: float
    label: str | None


@dataclasses.dataclass(frozen=True)
class Sample:
    array: np.ndarray
    table: pd.DataFrame
    series: pd.Series
    inner: Inner
    maybe: Inner | None
    names: tuple[str, ...]
    pair: tuple[int, bool]
    anything: tuple[object, ...]
    by_pair: Mapping[tuple[str, int], np.ndarray]
    by_name: Mapping[str, float]


text = st.text(st.characters(codec="utf-8"), max_size=5)
plain = st.one_of(text, st.integers(), st.floats(), st.booleans(), st.none())
arrays = st.one_of(
    npst.arrays(
        st.sampled_from(["f8", "f4", "i8", "u1", "?"]),
        npst.array_shapes(min_dims=0, max_dims=3, min_side=0),
    ),
    npst.arrays("U3", npst.array_shapes(max_dims=1), elements=st.text("aé\U0001f600", max_size=3)),
)
columns = [
    *pdst.columns(["a", "b"], dtype=float),
    pdst.column("c", elements=st.one_of(st.none(), st.integers(-9, 9)), dtype=object),
    pdst.column("d", elements=plain, dtype=object),
    pdst.column("e", dtype=np.int32),
    pdst.column("f", dtype=bool),
]
indexes = st.one_of(
    pdst.range_indexes(max_size=6),
    pdst.indexes(elements=st.integers(0, 99), dtype=np.int64, max_size=6),
)
inners = st.builds(Inner, st.floats(), st.none() | text)
samples = st.builds(
    Sample,
    array=arrays,
    table=pdst.data_frames(columns, index=indexes),
    series=pdst.series(dtype=float, index=indexes),
    inner=inners,
    maybe=st.none() | inners,
    names=st.lists(text).map(tuple),
    pair=st.tuples(st.integers(), st.booleans()),
    anything=st.lists(plain).map(tuple),
    by_pair=st.dictionaries(st.tuples(text, st.integers()), arrays, max_size=3),
    by_name=st.dictionaries(text, st.floats()),
)


@pytest.mark.slow
@settings(max_examples=25)
@given(samples)
def test_whatever_fields_hold_comes_back(sample):
    require_equal(sample, unpack(pack(sample), Sample))


@pytest.mark.parametrize("share", [0, 0.01, 0.3, 0.5, 0.9, 0.999])
def test_damage_is_one_line(share):
    tally = result_of("tally")
    content = pack(tally)
    place = int(share * len(content))
    flipped = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
    for damaged in (flipped, content[:place], content + b"x"):
        with pytest.raises(
            InputError,
            match=r"^content: got [0-9]+ bytes, damaged or no result, expected the bytes of a result$",
        ):
            unpack(damaged, type(tally))


def sealed(files, compression=zipfile.ZIP_STORED):
    """An archive whose checksum is right, whatever it holds."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return seals.sealed(buffer.getvalue())


INNER = b'["", {"value": 1.0, "label": null}]'


@pytest.mark.parametrize(
    "content",
    [
        sealed({}),
        sealed({"result.json": b"[]"}),
        sealed({"result.json": b"{"}),
        sealed({"result.json": INNER.replace(b"1.0", b'"1"')}),
        sealed({"result.json": INNER.replace(b', "label": null', b"")}),
        sealed({"result.json": INNER.replace(b"null", b'null, "more": 1')}),
        sealed({"result.json": INNER.replace(b'""', b'"other"')}),
        pack(Inner(1.0, None), label="classes.1"),
        sealed({"result.json": INNER + b" " * 10**6}, zipfile.ZIP_DEFLATED),  # a bomb
    ],
)
def test_something_else_is_one_line(content):
    with pytest.raises(
        InputError,
        match=r"^content: got a result of another type or version, expected the type Inner of this version$",
    ):
        unpack(content, Inner)


def test_what_the_others_should_have_been_is_read():
    assert unpack(sealed({"result.json": INNER}), Inner) == Inner(1.0, None)
    labelled = pack(Inner(1.0, None), label="classes.1")
    assert unpack(labelled, Inner, "classes.1") == Inner(1.0, None)
    with pytest.raises(InputError, match="of another type or version"):
        unpack(labelled, Inner, "classes.2")


@pytest.mark.parametrize("seed", and_nightly(range(5), range(5, 600)))
def test_forged_tables_never_crash(seed):
    """One of 150 such tables, whose text pointed beyond its buffer, ended the process."""
    rng = np.random.default_rng(seed)
    content = bytearray(
        _table_bytes(pd.DataFrame({"name": ["ab", "c", "déf"], "value": [1.0, 2.0, np.nan]}))
    )
    for place in rng.integers(0, len(content), rng.integers(1, 6)):
        content[place] = rng.integers(256)
    with contextlib.suppress(*_MISFITS, MemoryError):
        _table(bytes(content)).to_dict("records")


def test_pickled_objects_are_refused():
    buffer = io.BytesIO()
    np.save(buffer, np.array([print], object), allow_pickle=True)
    with pytest.raises(InputError, match="expected the type ndarray"):
        unpack(sealed({"result.json": b'["", "0.npy"]', "0.npy": buffer.getvalue()}), np.ndarray)
    with pytest.raises(ValueError, match="allow_pickle"):
        pack(np.array([print], object))
