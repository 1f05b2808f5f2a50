"""Outcomes of examples are read alike from every form, judged as predictions are, and rarely misjudged at the limit."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tfaudit import InputError, Limits, Outcomes, Predictions, gate, read_outcomes
from tfaudit.audits.gate.measurements import measure, measure_outcomes
from tfaudit.readers.outcome_files import OutcomeFiles, read_sides


@pytest.fixture
def sides(rng):
    """Right and wrong predictions of one model and one compressed model of two classes, and the same as outcomes."""
    labels = np.arange(500) % 2
    right = [rng.random((1, 500)) < rate for rate in (0.9, 0.85)]
    return [
        (Predictions.from_top1(labels, np.where(one, labels, 1 - labels)), Outcomes(one))
        for one in right
    ]


def test_right_and_wrong_have_the_intervals_of_predictions(sides):
    (dense, before), (small, after) = sides
    expected, found = measure(dense, small).overall, measure_outcomes(before, after).overall
    for name in ("loss", "low", "high", "p", "examples", "lost", "won"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name))
    columns = pd.DataFrame({"part": np.arange(500) % 3})
    groups = [
        one.with_groups(*both, columns).groups
        for one, both in (
            (measure(dense, small), (dense, small)),
            (measure_outcomes(before, after), (before, after)),
        )
    ]
    np.testing.assert_allclose(groups[0].high, groups[1].high)


def test_populations_and_clusters_are_those_of_predictions(rng):
    labels, clusters = np.arange(300) % 2, np.arange(300) // 5
    right = [rng.random((4, 300)) < rate for rate in (0.9, 0.85)]
    predictions = [
        Predictions.from_top1(labels, np.where(one, labels, 1 - labels), clusters=clusters)
        for one in right
    ]
    outcomes = [Outcomes(one, clusters=clusters) for one in right]
    expected, found = measure(*predictions).overall, measure_outcomes(*outcomes).overall
    np.testing.assert_allclose([found.low, found.high], [expected.low, expected.high])


def test_graded_outcomes_of_a_pair_have_students_interval(rng):
    before, after = rng.random(200), rng.random(200)
    losses = measure_outcomes(Outcomes(before), Outcomes(after)).overall
    low, high = stats.ttest_rel(before, after).confidence_interval()
    assert losses.loss[0] == pytest.approx(100 * (before - after).mean())
    assert losses.low[0] == pytest.approx(100 * low, abs=0.05)
    assert losses.high[0] == pytest.approx(100 * high, abs=0.05)


@pytest.mark.parametrize(("loss", "outcome"), [(0.055, "pass"), (0.045, "fail")])
@pytest.mark.parametrize("members", [1, 4])
def test_a_graded_loss_near_the_limit_is_rarely_misjudged(loss, outcome, members):
    rng = np.random.default_rng(3)

    def side(difficulty, lost):
        ability = rng.normal(0, 0.5, (members, 1)) + rng.normal(0, 0.7, (members, 400))
        right = ability < difficulty
        values = np.where(right, 1.0, rng.random((members, 400)) * 0.8)
        return values * (rng.random((members, 400)) >= lost)

    found = []
    for _ in range(200):
        difficulty = stats.norm.ppf(0.85) + 1.3 * rng.standard_t(3, 400)
        before, base = side(difficulty, 0.0), 0.0
        base = before.mean()
        lost = loss / base
        after = (
            before * (rng.random(before.shape) >= lost) if members == 1 else side(difficulty, lost)
        )
        verdict = gate(Outcomes(before), Outcomes(after), Limits(overall_drop_pp=5))
        found.append(verdict.outcome)
    assert found.count(outcome) <= 0.05 * 200 + 2 * np.sqrt(200 * 0.05 * 0.95)


@pytest.mark.parametrize(
    ("values", "settings", "message"),
    [
        ([1, 2], {}, "values: got scores of 1 to 2, expected scores in [0, 1]"),
        ([1, np.nan], {}, "values: got scores of 1 to 1 and NaN or infinity"),
        ([], {}, "values: got shape (0,)"),
        (np.ones((1, 1, 1)), {}, "values: got shape (1, 1, 1)"),
        ([1, 0], {"example_ids": ["a", "a"]}, "example_ids: got 2 ids, 1 of them different"),
        ([1, 0], {"members": [1, 2]}, "members: got (1, 2), expected 1, one per member"),
    ],
)
def test_bad_outcomes_get_one_line(values, settings, message):
    with pytest.raises(InputError) as caught:
        Outcomes(values, **settings)
    assert str(caught.value).startswith(message)


def test_limits_and_sides_that_are_no_outcomes_are_refused():
    one, other = Outcomes([1, 0, 1]), Outcomes([1, 0])
    with pytest.raises(InputError, match=r"flips: got 0\.1, expected a limit on outcomes"):
        gate(one, one, Limits(flips=0.1))
    with pytest.raises(InputError, match="compressed: got 2 examples, expected 3"):
        gate(one, other)
    with pytest.raises(
        InputError, match=r"compressed: got Outcomes, expected tfaudit\.Predictions"
    ):
        gate(Predictions.from_top1([0, 1], [0, 1]), one)
    named = Outcomes([1, 0], example_ids=["a", "b"]), Outcomes([1, 0], example_ids=["a", "c"])
    with pytest.raises(InputError, match="got other ids at 1 positions, first 'c' at 1"):
        gate(*named)


@pytest.fixture
def frame(rng):
    return pd.DataFrame(
        {"id": [f"q{i}" for i in range(8)], "f1": rng.random(8).round(3), "task": ["x", "y"] * 4}
    )


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
def test_every_form_is_read_alike_and_joined_by_id(frame, tmp_path, form):
    def write(name, table):
        path = tmp_path / f"{name}.{form}"
        if form == "jsonl":
            path.write_text("\n".join(json.dumps(row) for row in table.to_dict("records")))
        else:
            (table.to_csv if form == "csv" else table.to_parquet)(path, index=False)
        return path

    before = write("before", frame)
    after = write("after", frame.iloc[::-1])
    sides = read_sides(OutcomeFiles(outcome="f1"), [before], {"small": [after]})
    np.testing.assert_allclose(sides.baseline.values, [frame["f1"]])
    np.testing.assert_allclose(sides.compressed["small"].values, [frame["f1"]])
    assert sides.groups["task"].tolist() == frame["task"].tolist()
    np.testing.assert_allclose(read_outcomes(before, "f1").values, [frame["f1"]])
    two = pd.concat([frame.assign(member=0), frame.iloc[::-1].assign(member=1)])
    assert read_outcomes(write("two", two), "f1").values.tolist() == [frame["f1"].tolist()] * 2


def test_arrays_and_truth_values_are_outcomes(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[True, False], [True, True]]))
    assert read_outcomes(tmp_path / "a.npy", "right").values.tolist() == [[1, 0], [1, 1]]
    np.savez(tmp_path / "a.npz", iou=[0.5, 0.25])
    assert read_outcomes(tmp_path / "a.npz", "iou").values.tolist() == [[0.5, 0.25]]
    (tmp_path / "a.csv").write_text("right\nTrue\nFalse\n")
    assert read_outcomes(tmp_path / "a.csv", "right").values.tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,f1\na,1\na,0\n", "the id 'a' twice"),
        ("id,f1\na,1\nb,2\n", "1 value such as 2 in column 'f1', row 1, expected outcomes in"),
        ("id,f1\na,\nb,1\n", "1 value such as nan in column 'f1'"),
        ("id,acc\na,1\n", "columns id, acc, expected a column f1, as --outcome says"),
        ("id,f1\n", "no rows"),
    ],
)
def test_bad_files_get_one_line(tmp_path, text, message):
    path = tmp_path / "answers.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_outcomes(path, "f1")
    assert str(caught.value).startswith(f"{path}: got {message}")


def test_other_examples_are_refused_or_left_out_on_request(frame, tmp_path):
    before, after = tmp_path / "before.csv", tmp_path / "after.csv"
    frame.to_csv(before, index=False)
    frame.head(5).to_csv(after, index=False)
    with pytest.raises(InputError, match=r"got 5 examples, 5 of them among the 8 of .*--common"):
        read_sides(OutcomeFiles(outcome="f1"), [before], {"small": [after]})
    sides = read_sides(OutcomeFiles(outcome="f1", common=True), [before], {"small": [after]})
    assert sides.baseline.example_ids.tolist() == frame["id"].tolist()[:5]
    frame.drop(columns="id").to_csv(after, index=False)
    with pytest.raises(InputError, match="no column of ids, expected ids, as in"):
        read_sides(OutcomeFiles(outcome="f1"), [before], {"small": [after]})
