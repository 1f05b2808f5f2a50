"""Charts of robustness: what they name, in which order, that they follow the page's colour and its width."""

import functools

import numpy as np
import pandas as pd
import pytest

from tests.builders.drawings import assert_fits, rows_of, texts
from tests.builders.populations import population
from tfaudit.audits.robustness.chart import relative_change_chart, severity_chart
from tfaudit.audits.robustness.class_chart import class_corruption_chart
from tfaudit.audits.robustness.robustness import robustness
from tfaudit.charts.rendering import inline_svg
from tfaudit.predictions import Predictions

NAMES = ("fog", "gaussian_noise", "jpeg_compression")


@functools.cache
def level(strength, corruptions=NAMES, severities=(1, 3, 5)):
    """A compressed population that sees the worse, the further back a corruption stands."""
    conditions = [(name, severity) for name in corruptions for severity in severities]
    before = {
        (name, severity): population(severity, noise=1 + 0.1 * severity)
        for name, severity in conditions
    }
    after = {
        (name, severity): population(
            50 + severity,
            noise=1 + 0.1 * severity + strength * corruptions.index(name),
            hurt=[3] * (strength > 0.4),
        )
        for name, severity in conditions
    }
    return robustness(before, after, clean=(population(7), population(8)))


@functools.cache
def levels():
    return {"magnitude 50 %": level(0.1), "magnitude 90 %": level(0.5)}


def changes():
    return {title: each.changes() for title, each in levels().items()}


def curves():
    return {title: each.curves() for title, each in levels().items()}


@pytest.mark.parametrize(
    "draw",
    [
        lambda: relative_change_chart(changes()),
        lambda: relative_change_chart(
            {f"a rather long name of level {i}": level(0.1).changes() for i in range(12)}, k=5
        ),
        lambda: severity_chart(curves(), baseline="dense"),
        lambda: severity_chart({"int8": level(0.1, ("fog",)).curves()}),
        lambda: level(0.5).class_chart(),
        lambda: level(0.1, tuple(f"a_long_corruption_{i}" for i in range(19)), (1,)).class_chart(),
    ],
)
def test_charts_fit_a_narrow_page_and_a_dark_one(draw):
    assert_fits(draw(), 470)


def test_corruptions_stand_by_their_deepest_fall_and_the_mean_last():
    chart = relative_change_chart(changes())
    in_words = [name.replace("_", " ") for name in NAMES]
    shown = [text for text in texts(chart) if text in (*in_words, "all corruptions")]
    deepest = pd.concat([each.frame().query("k == 1") for each in levels().values()])
    expected = deepest.groupby("corruption")["relative_change"].min().sort_values().index
    assert shown == [*(name.replace("_", " ") for name in expected), "all corruptions"]
    assert {"magnitude 50 %", "magnitude 90 %"} <= set(texts(chart))
    drawn = rows_of(chart)
    row = drawn[(drawn["corruption"] == "fog") & (drawn["level"] == "magnitude 90 %")].iloc[0]
    assert row["relative_change"] == pytest.approx(
        100 * level(0.5).frame()["relative_change"].iloc[0]
    )


def test_a_mean_over_one_corruption_is_not_drawn():
    assert "all corruptions" not in texts(
        relative_change_chart({"a": level(0.1, ("fog",)).changes()})
    )


def test_severities_begin_with_the_clean_images():
    drawn = rows_of(severity_chart(curves(), baseline="dense"))
    assert drawn.groupby("level")["corruption"].size().to_dict() == dict.fromkeys(
        ["dense", *levels()], 12
    )
    dense = drawn[(drawn["level"] == "dense") & (drawn["corruption"] == "fog")].set_index(
        "severity"
    )["accuracy"]
    assert dense[0] == pytest.approx(100 * population(7).accuracy().mean())
    assert dense[3] == pytest.approx(100 * population(3, noise=1.3).accuracy().mean())


def test_the_baseline_is_dashed_above_a_variant_that_equals_it():
    panel = severity_chart(curves(), baseline="dense").to_dict()["vconcat"][1]["concat"][0]
    lines = [
        (layer["mark"].get("strokeDash"), layer["transform"][0]["filter"])
        for layer in panel["layer"][:2]
    ]
    (_, variants), (dash, baseline) = lines
    assert baseline == {"field": "level", "equal": "dense"}
    assert variants == {"not": baseline}
    assert dash


def test_a_severity_of_its_own_has_its_changes_and_no_mean():
    drawn = rows_of(
        relative_change_chart({title: each.changes(3) for title, each in levels().items()}, k=5)
    )
    found = level(0.5).severity_frame().query("k == 5 and severity == 3").set_index("corruption")
    shown = drawn[drawn["level"] == "magnitude 90 %"].set_index("corruption")
    assert set(shown.index) == set(NAMES)
    for name in ("relative_change", "relative_low", "relative_high"):
        np.testing.assert_allclose(shown[name], 100 * found.loc[shown.index, name])


def test_severities_of_the_corruptions_that_were_chosen():
    drawn = rows_of(severity_chart(curves(), corruptions=["fog"]))
    assert set(drawn["corruption"]) == {"fog"}
    assert set(drawn["level"]) == {"before", *levels()}


def test_cells_are_marked_where_they_are_significant():
    found = level(0.5)
    svg = inline_svg(found.class_chart(), "")
    claimed = found.class_frame()["verdict"].isin(["lost recall", "gained recall"])
    assert svg.count('fill="#26282e"') == claimed.sum() > 0
    svg = inline_svg(class_corruption_chart(found.class_frame(), question="relative"), "")
    claimed = found.class_frame()["relative_verdict"].isin(
        ["worse than average", "better than average"]
    )
    assert svg.count('fill="#26282e"') == claimed.sum()
    assert "change of recall minus change of accuracy" in svg


@pytest.mark.slow
def test_of_a_thousand_classes_those_of_the_largest_change_are_shown():
    rng = np.random.default_rng(0)
    labels = np.arange(4000) % 1000
    names = [f"species {i}" for i in range(1000)]

    def trained(right):
        return Predictions.from_top1(
            labels, np.where(rng.random((3, 4000)) < right, labels, 0), class_names=names
        )

    before, after = ({(name, 1): trained(right) for name in NAMES} for right in (0.9, 0.8))
    chart = robustness(before, after).class_chart()
    assert "the 30 classes with the largest change, of 1,000" in texts(chart)
    assert sum(text.startswith("species") for text in texts(chart)) == 30


def test_single_models_show_the_change_that_was_tested():
    conditions = (
        {("fog", 1): population(1, members=1)},
        {("fog", 1): population(2, members=1, hurt=[3])},
    )
    found = robustness(*conditions)
    cells, chart = found.class_frame(), found.class_chart()
    assert "change of recall, percentage points" in texts(chart)
    np.testing.assert_allclose(sorted(rows_of(chart)["value"]), sorted(cells["change_pp"]))


def test_classes_of_one_name_are_rows_of_their_own():
    cells = level(0.5).class_frame()
    cells["class"] = cells["class"].replace({"1": "crane", "4": "crane"})
    chart = class_corruption_chart(cells)
    assert set(rows_of(chart)["class"]) == {"0", "crane (1)", "2", "3", "crane (4)"}
    assert len(rows_of(chart)) == len(cells)


def test_as_many_classes_as_asked_for():
    cells = level(0.5).class_frame()
    worst = cells["change_pp"].abs().groupby(cells["class"]).max().nlargest(2).index
    chart = class_corruption_chart(cells, most=2)
    assert set(rows_of(chart)["class"]) == set(worst)
    assert "the 2 classes with the largest change, of 5" in texts(chart)
