"""Operating points: hand-made cases, the steps in their order, invariances and degenerate tables."""

import numpy as np
import pandas as pd
import pytest

from tfaudit.errors import InputError
from tfaudit.extensions.operating_points.operating_points import operating_points, pareto_shares

THREE = {"accuracy": "max", "sparsity": "max", "unfairness": "min"}


def table(rows, columns="variant sparsity unfairness accuracy"):
    return pd.DataFrame(rows, columns=columns.split())


# As in [P] 4.2: fair and moderately sparse against unfair and sparse; "early" is dominated, "broken" is inaccurate.
PAPER = table(
    [
        ("fair", 0.68, 0.012, 0.985),
        ("sparse", 0.8, 0.03, 0.981),
        ("early", 0.5, 0.02, 0.99),
        ("broken", 0.9, 0.001, 0.6),
    ]
)


def marked(found, column):
    frame = found.frame()
    return set(frame.loc[frame[column], "variant"])


def test_floor_then_set_then_value():
    found = operating_points(PAPER, floor=0.98, weights={"sparsity": 1, "unfairness": 100})
    assert marked(found, "above_floor") == {"fair", "sparse", "early"}
    assert marked(found, "pareto") == {"fair", "sparse"}
    assert marked(found, "chosen") == {"fair"}
    np.testing.assert_allclose(found.frame()["value"], [0.68 - 1.2, 0.8 - 3, 0.5 - 2, 0.9 - 0.1])
    summary = found.summary()
    assert (summary["points"], summary["above_floor"], summary["pareto"]) == (4, 3, 2)
    assert (summary["choice"], summary["chosen"]) == ("fair", 1)
    # The value function rules: who does not mind unfairness takes the sparse one.
    sparse = operating_points(PAPER, floor=0.98, weights={"sparsity": 1, "unfairness": 0})
    assert sparse.summary()["choice"] == "sparse"


def test_what_the_gate_fails_or_cannot_judge_is_neither_optimal_nor_chosen():
    outcomes = {"fair": "cannot judge", "sparse": "pass", "broken": "fail"}  # early is the baseline
    found = operating_points(PAPER, weights={"sparsity": 1, "unfairness": 100}, outcomes=outcomes)
    assert marked(found, "pareto") == {"sparse", "early"}
    assert marked(found, "chosen") == {"early"}  # which is worth more than what passes
    assert found.frame()["gate"].tolist()[:2] == ["cannot be judged", "passes the gate"]
    assert found.frame()["gate"].isna().tolist() == [False, False, True, False]
    sparse = operating_points(PAPER, weights={"sparsity": 1, "unfairness": 0}, outcomes=outcomes)
    assert marked(sparse, "chosen") == {"sparse"}
    nothing = operating_points(
        PAPER, weights={"sparsity": 1, "unfairness": 1}, outcomes={**outcomes, "sparse": "fail"}
    )
    assert nothing.summary()["choice"] is None
    assert "gate" not in operating_points(PAPER).frame()


def test_equal_means_tie_in_spite_of_rounding():
    seeds = table(
        [("a", 0.5, u, 0.9) for u in (0.1, 0.2, 0.3)]
        + [("b", 0.5, u, 0.9) for u in (0.3, 0.2, 0.1)]
    )
    found = operating_points(seeds, weights={"sparsity": 1, "unfairness": 1})
    assert marked(found, "pareto") == marked(found, "chosen") == {"a", "b"}
    assert found.summary()["choice"] == "a"
    assert found.notes == ("2 points have the same highest value.",)


def test_exactly_at_the_floor_is_above_it():
    seeds = table([("a", 0.5, 0.1, accuracy) for accuracy in (0.97, 0.98, 0.99)])
    assert operating_points(seeds, floor=0.98).summary()["above_floor"] == 1


def test_scaling_an_objective_leaves_the_set_and_shuffling_the_rows_the_result(rng):
    many = table(np.c_[np.arange(300), rng.random((300, 3))].tolist()).assign(
        variant=[f"v{i}" for i in range(300)]
    )
    found = operating_points(many, objectives=THREE, floor=0.3)
    scaled = operating_points(
        many.assign(sparsity=1e4 * many["sparsity"]), objectives=THREE, floor=0.3
    )
    shuffled = operating_points(many.sample(frac=1, random_state=0), objectives=THREE, floor=0.3)
    assert marked(found, "pareto") == marked(scaled, "pareto") == marked(shuffled, "pareto")
    assert 3 < len(marked(found, "pareto")) < 300


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objectives": {}}, "objectives: got none"),
        (
            {"objectives": {"sparsity": "up"}},
            "objectives: got sparsity 'up', expected 'max' and 'min'",
        ),
        (
            {"objectives": {"speed": "max"}},
            "table: got columns variant, sparsity.* expected a column 'speed'",
        ),
        (
            {"objectives": {"variant": "max"}},
            "table: got column 'variant' with values that are not numbers",
        ),
        ({"floor": float("nan")}, "floor: got nan"),
        (
            {"weights": {"sparsity": 1}},
            "weights: got weights for sparsity, expected weights for sparsity, unfairness",
        ),
        ({"weights": {}}, "weights: got weights for nothing"),
        (
            {"weights": {"sparsity": -1, "unfairness": 1}},
            "weights: got .*, expected finite values of 0 or more",
        ),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(InputError, match=message):
        operating_points(PAPER, **options)


def test_pareto_shares_equal_resampling_by_hand():
    generator = np.random.default_rng(3)
    means = {"small": (0.5, 0.90), "middle": (0.7, 0.905), "large": (0.9, 0.91), "bad": (0.9, 0.5)}
    rows = [
        (key, size, accuracy + 0.01 * generator.normal())
        for key, (size, accuracy) in means.items()
        for _ in range(4)
    ]
    table = pd.DataFrame(rows, columns=["variant", "size", "accuracy"])
    objectives = {"size": "min", "accuracy": "max"}
    shares = pareto_shares(table, objectives=objectives, floor=0.6, draws=600)
    inside = dict.fromkeys(means, 0)
    columns = {key: part[["size", "accuracy"]].to_numpy() for key, part in table.groupby("variant")}
    for _ in range(600):
        drawn = {
            key: part[generator.integers(4, size=4)].mean(0).round(12)
            for key, part in columns.items()
        }
        for key, mine in drawn.items():
            gains = [(mine[0] - other[0], other[1] - mine[1]) for other in drawn.values()]
            beaten = any(min(gain) >= 0 and max(gain) > 0 for gain in gains)
            inside[key] += not beaten and mine[1] >= 0.6
    for key in means:
        assert shares[key] == pytest.approx(inside[key] / 600, abs=0.08)
    assert shares["bad"] == 0
    assert shares["small"] == 1
    pd.testing.assert_series_equal(
        shares, pareto_shares(table, objectives=objectives, floor=0.6, draws=600)
    )


def test_pareto_shares_of_single_models_are_unknown():
    table = pd.DataFrame({"variant": ["a", "b"], "size": [1.0, 2.0], "accuracy": [0.9, 0.8]})
    assert pareto_shares(table, objectives={"size": "min", "accuracy": "max"}).isna().all()


def test_incomplete_rows_are_left_out_and_named():
    holes = pd.concat([PAPER, table([("int8", np.nan, 0.0, 1.0), ("fair", 0.68, np.inf, 0.985)])])
    found = operating_points(holes, floor=0.98)
    pd.testing.assert_frame_equal(found.frame(), operating_points(PAPER, floor=0.98).frame())
    assert found.notes == ("2 of 6 rows lack an objective and are left out, of int8, fair.",)
