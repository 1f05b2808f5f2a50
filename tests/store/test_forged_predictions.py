"""Predictions whose checksums are right and whose values are not: a study from someone else may hold anything."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.builders.refusals import assert_refused
from tests.builders.small_stores import (
    LABELS,
    random_ranks,
    save_examples,
    save_member,
    small_study,
)
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.store.store import Store

N = len(LABELS)
RANKS = [[0, 1]] * N
FORGED = {
    "text": {"ranked": [["a", "b"]] * N},
    "fractions": {"ranked": [[0.5, 1.0]] * N},
    "truth values": {"ranked": [[True, False]] * N},
    "records": {"ranked": [{"a": 1}] * N},
    "one number each": {"ranked": list(range(N))},
    "no ranks": {"other": list(range(N))},
    "rows of other lengths": {"ranked": [[0], [0, 1, 2]] * (N // 2)},
    "empty rows": {"ranked": pa.array([[]] * N, pa.list_(pa.int32()))},
    "no rows": {"ranked": pa.array([], pa.list_(pa.int32()))},
    "too few rows": {"ranked": RANKS[1:]},
    "a null row": {"ranked": [*RANKS[1:], None]},
    "a null": {"ranked": [*RANKS[1:], [0, None]]},
    "a negative class": {"ranked": [[-1, 1]] * N},
    "a class too many": {"ranked": [[2**62, 1]] * N},
    "text as probabilities": {"ranked": RANKS, "probability": [["a", "b"]] * N},
    "too few probabilities": {"ranked": RANKS, "probability": [[0.5]] * N},
    "no probabilities": {"ranked": RANKS, "probability": [[float("nan")] * 2] * N},
    "text as ties": {"ranked": RANKS, "tied": [["a"]] * N},
    "null ties": {"ranked": RANKS, "tied": pa.array([None] * N, pa.list_(pa.int32()))},
    "ties of negative classes": {"ranked": RANKS, "tied": [[0, -3]] * N},
    "ties of unknown classes": {"ranked": RANKS, "tied": [[0, 99]] * N},
}


@pytest.mark.parametrize("columns", FORGED.values(), ids=FORGED)
def test_values_that_are_no_predictions_are_one_line(tmp_path, rng, columns):
    store = Store.create(tmp_path, small_study(population=1), {})
    save_examples(store)
    save_member(store, "dense", 0, random_ranks(rng))
    content = io.BytesIO()
    pq.write_table(pa.table(columns), content)
    path = store.prediction_path("magnitude-0.5", 0)
    store.save_member("magnitude-0.5", 0, {path: content.getvalue()}, {"seed": 0})
    assert store.is_complete("magnitude-0.5", 0)
    assert_refused("got ", lambda: StudyAudit.read(store).prepare())
