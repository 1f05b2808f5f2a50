"""Page 6: gate, floor and worths choose a point, and the URL holds them."""

import pandas as pd
import pytest

from tests.builders.pages import unescaped
from tests.builders.populations import population
from tests.builders.studies import make_study
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.limits import Limits
from tfaudit.extensions.operating_points.operating_points import operating_points
from tfaudit.extensions.operating_points.study_points import costs_and_accuracy
from tfaudit.store.external import import_predictions
from tfaudit.study.variants import Pruned

LEVELS = tuple(Pruned(sparsity) for sparsity in (0.3, 0.5, 0.7, 0.9))
PASSABLE = {"max_overall_drop": "16", "max_worst_class_drop": ""}
"""Limits in the URL under which all but 90 % pass; under the default limits none can be judged."""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_study(tmp_path_factory.mktemp("levels"), variants=LEVELS, harmed=4)


def table_of(app):
    return app.dataframe[0].value


def expected(store, **options):
    objectives = {"size": "min", "unfairness": "min", "accuracy": "max"}
    study_audit = StudyAudit.read(store)
    outcomes = study_audit.verdict(Limits(overall_drop_pp=16)).outcomes
    return operating_points(
        costs_and_accuracy(study_audit), objectives=objectives, outcomes=outcomes, **options
    ).frame()


@pytest.mark.slow
def test_points_are_those_of_the_audit(opened, store):
    weights = {"size": 1, "unfairness": 10, "accuracy": 10}
    worths = {"worth-unfairness": "10", "worth-accuracy": "10"}
    app = opened(**PASSABLE, **worths)
    found = expected(store, weights=weights)
    assert list(table_of(app)["chosen"]) == list(found["chosen"])
    assert list(table_of(app)["pareto"]) == list(found["pareto"])
    assert list(table_of(app)["gate"].dropna()) == list(found["gate"].dropna())
    behind = found["value"][found["pareto"]].max() - found["value"]
    assert table_of(app)["behind"].to_numpy() == pytest.approx(100 * behind.to_numpy())
    assert "value" not in table_of(app)
    passes = found["gate"].isin([None, "passes the gate"])
    assert 0 < passes.sum() < len(passes)
    assert table_of(app)["pareto_share"][passes].between(0, 1).all()
    assert table_of(app)["pareto_share"][~passes].isna().all()
    title = found["title"][found["chosen"]].iloc[0]
    said = unescaped(app.success[0].value)
    assert said.startswith(
        f"Chosen: {title}: {100 * found['accuracy'][found['chosen']].iloc[0]:.2f} % accurate"
    )
    assert "kB gzipped" in said


@pytest.mark.parametrize("drop", [4.0, None])
def test_the_lowest_floor_is_that_of_the_gate(opened, store, drop):
    limits = {"max_overall_drop": "4"} if drop else {"max_overall_drop": "", "max_flips": "0.9"}
    accuracy = costs_and_accuracy(StudyAudit.read(store)).groupby("variant")["accuracy"].mean()
    least = accuracy["dense"] - drop / 100 if drop else accuracy.min()
    app = opened(max_worst_class_drop="", **limits)
    slider = app.slider(key="floor")
    assert slider.value == slider.min == pytest.approx(100 * least, abs=0.1)
    above = table_of(app)["above_floor"]
    assert above.tolist() == (accuracy >= least).tolist()
    assert above.all() == (drop is None)


def test_by_default_the_choice_is_that_of_overview(opened, store):
    """And a variant that cannot be judged is not chosen for its size."""
    verdict = StudyAudit.read(store).verdict(Limits(overall_drop_pp=16))
    assert verdict.best == "magnitude-0.7"
    for worth in ({}, {"worth": "100"}):
        app = opened(**PASSABLE, **worth)
        rows = table_of(app).set_index("title")
        assert list(rows.index[rows["chosen"]]) == ["magnitude 70 %"]
        assert rows["size"].idxmin() == "magnitude 90 %"
        assert rows["gate"]["magnitude 90 %"] == "cannot be judged"


def test_where_nothing_passes_nothing_is_chosen(opened):
    app = opened(worth="100")
    rows = table_of(app).set_index("title")
    assert not rows["chosen"].any()
    assert not app.success
    assert "No variant passes: 4 cannot be judged." in app.get("html")[0].proto.body
    assert rows["gate"].dropna().tolist() == ["cannot be judged"] * 4


@pytest.mark.slow
def test_measured_time_is_an_axis_and_part_of_the_cost(open_page, tmp_path):
    store = make_study(tmp_path, variants=LEVELS, harmed=4)
    keys = [variant.key for variant in store.study.all_variants]
    times = [2.0, 1.9, 1.7, 1.2, 0.5]
    store.save_table(
        "costs",
        pd.DataFrame(
            {"variant": keys, "latency_1_ms": times, "latency_1_ratio": [t / 2 for t in times]}
        ),
    )
    app = open_page(tmp_path, "operating_points", against="time", **PASSABLE)
    assert list(table_of(app)["time"]) == [t / 2 for t in times]
    assert "ms" in app.success[0].value


def test_sizes_on_disk_are_sizes_too(open_page, tmp_path):
    """A study that `compress` or `compare` wrote knows no others."""
    one = population(0, members=1)
    facts = pd.DataFrame({"bytes": {"baseline": 100, "a": 50, "b": 25, "c": 30}})
    import_predictions(tmp_path, one, dict.fromkeys("abc", one), name="mine", facts=facts)
    app = open_page(tmp_path, "operating_points")
    assert not app.error
    assert not app.info
    sizes = table_of(app).set_index("title")["size"]
    assert sizes.to_dict() == {"baseline": 1, "a": 0.5, "b": 0.25, "c": 0.3}
    app = open_page(tmp_path, "overview")
    assert not app.info
