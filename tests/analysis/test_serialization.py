"""Results come back from bytes as they were; damage is one line; nothing in the bytes names a class."""

import contextlib
import dataclasses
import hashlib
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
from tests.builders.equality import require_equal
from tests.builders.factor_tables import SPARSE, TABLE
from tests.builders.nightly import and_nightly
from tests.builders.populations import population
from tfaudit.analysis.serialization import _MISFITS, _table, _table_bytes, pack, unpack
from tfaudit.audits.attributes.attributes import attributes
from tfaudit.audits.calibration.calibration import calibration
from tfaudit.audits.chance.chance import chance
from tfaudit.audits.classes.classes import class_impact
from tfaudit.audits.distortion.recall_distortion import distortion
from tfaudit.audits.divergence.divergence import divergence
from tfaudit.audits.exemplars.exemplars import exemplars
from tfaudit.audits.factors.regression import factors, factors_glm
from tfaudit.audits.flips.negative_flips import flip_rates
from tfaudit.audits.flips.retrained_twins import retrained_twins
from tfaudit.audits.forecast.forecast import forecast
from tfaudit.audits.forecast.quality import forecast_quality
from tfaudit.audits.gate.gate import gate
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.gate.measurements import measure
from tfaudit.audits.groups.groups import groups
from tfaudit.audits.intersections.intersections import intersections
from tfaudit.audits.model_pair.model_pair import compare
from tfaudit.audits.operating_points.operating_points import operating_points, trade_offs
from tfaudit.audits.planning.planning import guessed_model, guessed_spread, plan, plan_gate
from tfaudit.audits.prediction_counts.prediction_counts import count_predictions
from tfaudit.audits.remedies.remedies import remedies
from tfaudit.audits.result import Result
from tfaudit.audits.robustness.robustness import robustness
from tfaudit.audits.slices.slices import slices
from tfaudit.audits.summary.summary import audit_variant, summary
from tfaudit.audits.survey.questions import QUESTIONS
from tfaudit.audits.survey.sample import survey_sample
from tfaudit.audits.survey.survey import survey
from tfaudit.audits.trends.trends import trends
from tfaudit.audits.verdict.study_verdict import study_verdict
from tfaudit.errors import InputError

BEFORE, AFTER = population(0), population(1, hurt=[3])
ONE, OTHER = population(0, members=1), population(1, members=1, hurt=[3])
COLUMN = pd.Series(np.arange(200) % 3, name="series").replace(2, None)
WRITERS = np.arange(200) // 4


def answers():
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        [(rater, image) for rater in "ab" for image in range(40)], columns=["rater", "example"]
    )
    table["is_pie"] = table["example"] % 2 == 0
    return table.assign(
        **{question.key: random.integers(0, 2, len(table)) for question in QUESTIONS}
    )


def corrupted(first, single=False):
    conditions = [("fog", 1), ("fog", 3), ("imagenet_a", 0)]
    return {
        c: population(first + i, noise=1.5, members=1 if single else 6)
        for i, c in enumerate(conditions)
    }


def operated():
    facts = pd.DataFrame({"bytes": [4, 2], "title": ["a", "b"]}, index=["dense", "int8"])
    table = trade_offs({"dense": BEFORE, "int8": AFTER}, facts)
    goals = {"bytes": "min", "unfairness": "min"}
    return operating_points(
        table, objectives=goals, floor=0.1, weights={"bytes": 1, "unfairness": 2}
    )


RESULTS = {
    "classes": lambda: class_impact(BEFORE, AFTER),
    "classes, one empty": lambda: class_impact(
        population(0, empty=[2]), population(1, empty=[2]), centering="none"
    ),
    "exemplars": lambda: exemplars(BEFORE, AFTER),
    "exemplars, none": lambda: exemplars(BEFORE, BEFORE),
    "chance": lambda: chance(BEFORE, AFTER, permutations=20),
    "chance, single": lambda: chance(ONE, AFTER, permutations=20),
    "summary": lambda: summary({"dense": BEFORE, "int8": AFTER, "one": OTHER}, permutations=20),
    "variant": lambda: audit_variant(BEFORE, AFTER, permutations=20),
    "tally": lambda: count_predictions(BEFORE),
    "robustness": lambda: robustness(corrupted(2), corrupted(20), clean=(BEFORE, AFTER)),
    "robustness, single": lambda: robustness(corrupted(2, single=True), corrupted(20, single=True)),
    "distortion": lambda: distortion(BEFORE, AFTER),
    "calibration": lambda: calibration(BEFORE, AFTER),
    "divergence": lambda: divergence(ONE, OTHER),
    "forecast": lambda: forecast(BEFORE),
    "forecast quality": lambda: forecast_quality(ONE, OTHER),
    "slices": lambda: slices(BEFORE, AFTER, np.random.default_rng(0).normal(size=(200, 3))),
    "negative flips": lambda: flip_rates(BEFORE, AFTER),
    "groups": lambda: groups(BEFORE, AFTER, COLUMN, individuals=WRITERS),
    "groups, nobody": lambda: groups(BEFORE, AFTER, COLUMN),
    "intersections": lambda: intersections(BEFORE, AFTER, COLUMN.to_frame()),
    "intersections, classes": lambda: intersections(BEFORE, AFTER),
    "attributes": lambda: attributes(BEFORE, AFTER, COLUMN.to_frame()),
    "trends": lambda: trends(BEFORE, AFTER, np.arange(200.0), column=COLUMN, individuals=WRITERS),
    "factors": lambda: factors(TABLE, **SPARSE),
    "factors, binomial": lambda: factors_glm(TABLE, **SPARSE),
    "operating points": operated,
    "operating points, no choice": lambda: operating_points(
        pd.DataFrame({"variant": ["a"], "sparsity": 0.5, "unfairness": 1})
    ),
    "all remedies": lambda: remedies({"distillation": (BEFORE, AFTER, population(2, hurt=[3]))}),
    "pairs": lambda: compare(ONE, OTHER),
    "twins": lambda: retrained_twins(BEFORE),
    "survey": lambda: survey(answers()),
    "survey sample": lambda: survey_sample(exemplars(BEFORE, AFTER), 10, seed=0),
    "plan": lambda: plan(guessed_spread(), 3),
    "gate plan": lambda: plan_gate(
        guessed_model(guessed_spread()), Limits(overall_drop_pp=20), members=[2], images=[50]
    ),
    "measurements": lambda: measure(BEFORE, AFTER),
    "measurements, single": lambda: measure(ONE, OTHER),
    "study verdict": lambda: study_verdict(
        {"a": measure(BEFORE, AFTER), "b": measure(ONE, OTHER), "c": None}
    ),
    "gate": lambda: gate(BEFORE, AFTER, Limits(worst_class_drop_pp=2, flips=0.1)),
}


def drawn(chart):
    """A chart as plain values; Altair numbers the views of a process."""
    return re.sub(r'"(view|param)_\d+', '"', json.dumps(chart.to_dict(), default=str))


@pytest.mark.slow
@pytest.mark.parametrize("name", RESULTS)
def test_every_result_comes_back_as_it_was(name):
    result = RESULTS[name]()
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


def test_no_result_is_left_out():
    modules = (
        importlib.import_module(m.name)
        for m in pkgutil.walk_packages(tfaudit.audits.__path__, "tfaudit.audits.")
    )
    results = {
        thing
        for module in modules
        for thing in vars(module).values()
        if dataclasses.is_dataclass(thing) and hasattr(thing, "frame") and hasattr(thing, "summary")
    }
    assert len(results) > 12
    assert results <= {type(make()) for make in RESULTS.values()}


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
@settings(max_examples=60)
@given(samples)
def test_whatever_fields_hold_comes_back(sample):
    require_equal(sample, unpack(pack(sample), Sample))


def test_tables_of_every_kind():
    table = pd.DataFrame(
        {
            "text": pd.Series(["x", None], dtype="str"),
            "whole": pd.array([1, None], "Int64"),
            "part": pd.array([0.5, None], "Float64"),
            "yes": pd.array([True, None], "boolean"),
            "kind": pd.Categorical(["b", "a"], ["unused", "b", "a"], ordered=True),
            "number": pd.Categorical([3, 1], [9, 3, 1]),
            "gap": [np.nan, -np.inf],
        },
        index=pd.MultiIndex.from_tuples([("fog", 1), ("snow", 2)], names=["corruption", None]),
    )
    table.attrs = {"class_names": ["<b>", "\U0001f408"]}
    require_equal(table, unpack(pack(table), pd.DataFrame))
    wide = pd.DataFrame(
        np.eye(3),
        columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 5), ("b", 1)], names=["t", "k"]),
    )
    require_equal(wide, unpack(pack(wide), pd.DataFrame))
    for name in ("p", None):
        series = pd.Series([1, 2], ["x", "y"], name=name)
        require_equal(series, unpack(pack(series), pd.Series))
    for empty in (table.iloc[:0], pd.DataFrame(), pd.DataFrame(index=[7, 9])):
        require_equal(empty, unpack(pack(empty), pd.DataFrame))


def test_a_type_that_is_none_of_the_results_own():
    found = (Inner(1, "a"), Inner(float("inf"), None))
    assert unpack(pack(found, tuple[Inner, ...]), tuple[Inner, ...]) == found
    assert unpack(pack((), tuple[Inner, ...]), tuple[Inner, ...]) == ()


@pytest.mark.parametrize("share", [0, 0.01, 0.3, 0.5, 0.9, 0.999])
def test_damage_is_one_line(share):
    content = pack(count_predictions(BEFORE))
    place = int(share * len(content))
    flipped = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
    for damaged in (flipped, content[:place], content + b"x"):
        with pytest.raises(
            InputError,
            match=r"^content: got [0-9]+ bytes, damaged or no result, expected the bytes of a result$",
        ):
            unpack(damaged, type(count_predictions(BEFORE)))


def sealed(files, compression=zipfile.ZIP_STORED):
    """An archive whose checksum is right, whatever it holds."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.comment = bytes(64)
    body = buffer.getvalue()[:-64]
    return body + hashlib.sha256(body).hexdigest().encode()


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


def test_what_a_field_does_not_say_is_refused():
    with pytest.raises(TypeError, match="str 'x'"):
        pack(Inner("x", None))
    with pytest.raises(TypeError, match="list"):
        pack((["x"],), tuple[object, ...])
