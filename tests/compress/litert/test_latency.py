"""latencies: on a clock of the test's own, and for real."""

import keras
import pytest
from keras import layers

from tests.builders.refusals import assert_refused
from tfaudit.compress.litert import latency as module
from tfaudit.compress.litert.latency import latencies
from tfaudit.compress.litert.quantize import quantize


def dense(units, batch=None):
    return keras.Sequential([keras.Input((16,), batch_size=batch), layers.Dense(units)])


@pytest.fixture(scope="module")
def contents():
    return {
        name: quantize(dense(units), "float32") for name, units in (("small", 4), ("large", 2048))
    }


class DriftingClock:
    """Stands in for `timeit.Timer`: a network takes its own milliseconds times the machine's slowness, which grows."""

    order: list
    slowness = 1.0

    def __init__(self, run):
        self.milliseconds = run

    def timeit(self, number):
        DriftingClock.order.append(self.milliseconds)
        DriftingClock.slowness *= 1.0003
        return number * self.milliseconds * DriftingClock.slowness / 1000


@pytest.fixture
def clock(monkeypatch):
    DriftingClock.order, DriftingClock.slowness = [], 1.0
    costs = iter([1.0, 3.0])
    monkeypatch.setattr(module, "_ready", lambda *_: next(costs))
    monkeypatch.setattr(module.timeit, "Timer", DriftingClock)
    return DriftingClock


@pytest.mark.slow
def test_ratios_are_of_one_round_so_drift_does_not_reach_them(clock, contents):
    table = latencies(contents, batches=[1], repeats=400)
    assert (
        table["q75_ms"][0] > 1.2 * table["q25_ms"][0]
    )  # the machine became slower by a half and more
    assert table["ratio"][1] == pytest.approx(3, abs=0.005)
    assert table["ratio_q75"][1] - table["ratio_q25"][1] < 0.01


def test_models_take_turns_in_an_order_that_the_seed_decides(clock, contents, monkeypatch):
    orders = {}
    for seed in (0, 0, 1):
        costs, clock.order = iter([1.0, 3.0]), []
        monkeypatch.setattr(module, "_ready", lambda *_, costs=costs: next(costs))
        latencies(contents, batches=[1], repeats=30, seed=seed)
        timed = clock.order[4:]  # after two calls of each that warm up; then every turn has two
        turns = {tuple(timed[i : i + 4]) for i in range(0, len(timed), 4)}
        assert turns == {(1, 1, 3, 3), (3, 3, 1, 1)}
        orders.setdefault(seed, []).append(timed)
    assert orders[0][0] == orders[0][1] != orders[1][0]


def test_real_networks(contents):
    table = latencies(contents, repeats=25)  # a median of few fails on a busy machine
    assert table[["batch", "model"]].to_numpy().tolist() == [
        [b, m] for b in (1, 32) for m in contents
    ]
    assert (table["q25_ms"] <= table["latency_ms"]).all()
    assert (table["latency_ms"] <= table["q75_ms"]).all()
    assert table["least_ms"].between(0, table["q25_ms"], inclusive="right").all()
    assert (table["ratio"][[0, 2]] == 1).all()
    assert table["ratio"][3] > 2  # 512 times the work; a call for one row is mostly overhead
    assert (table[["repeats", "threads"]] == [25, 1]).all(axis=None)


def test_a_flatbuffer_of_fixed_batch_is_timed_at_that_batch_only():
    table = latencies({"four": dense(2, batch=4)}, batches=[1, 4], repeats=2)
    assert table["latency_ms"].isna().tolist() == [True, False]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"repeats": 0}, "repeats: got 0, expected a whole number of 1 or more"),
        ({"batches": []}, r"batches: got \[\], expected one batch size or more"),
        ({"images": [1]}, "images: got list, expected an array"),
        ({"models": {}}, "models: got {}, expected one model or more"),
    ],
)
def test_errors(settings, message, contents):
    assert_refused(
        message, latencies, **{"models": contents, "batches": [2], "repeats": 1, **settings}
    )
