"""Charts show the values of their tables, claim what is claimed, and say what they leave out."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest

from tests.builders.drawings import rows_of, texts
from tests.builders.populations import population
from tests.builders.results import result_of
from tfaudit.app.flips_chart import MOST, flips_chart
from tfaudit.app.prediction_charts import class_recall_chart, votes_chart
from tfaudit.audits.attributes.attributes import attributes
from tfaudit.audits.chance.chart import BINS
from tfaudit.audits.classes.chart import class_impact_chart
from tfaudit.audits.classes.classes import class_impact
from tfaudit.audits.groups.groups import groups
from tfaudit.audits.groups.order import largest_losses_first
from tfaudit.audits.model_pair.model_pair import compare
from tfaudit.audits.robustness.chart import relative_change_chart, severity_chart
from tfaudit.audits.robustness.class_chart import class_corruption_chart
from tfaudit.audits.robustness.robustness import robustness
from tfaudit.charts.rendering import inline_svg
from tfaudit.charts.style import GAIN, LOSS, PLUM, WORSE

BEFORE, AFTER = population(1), population(2, hurt=[3])
IMPACT = class_impact(BEFORE, AFTER)
NEAR = np.where(BEFORE.labels == 3, "far", "near")
VALUES = pd.Series(np.random.default_rng(6).random(200), name="absolute tilt")
WRITERS = np.random.default_rng(5).integers(0, 100, 200)


def drawn(chart, colour, of="fill"):
    """Count what a chart draws in a colour, entries of the legend included."""
    return inline_svg(chart, "").count(f'{of}="{colour}"')


# Classes


def test_a_loss_of_a_class_has_the_full_colour_only_where_it_is_claimed():
    frame = IMPACT.frame()
    assert drawn(class_impact_chart(frame), LOSS) == (frame["verdict"] == "lost recall").sum() + 1
    assert drawn(class_impact(BEFORE, BEFORE).chart(), LOSS) == 0
    relative = class_impact_chart(frame, "relative")
    worse = (frame["relative_verdict"] == "worse than average").sum()
    assert (drawn(relative, WORSE), drawn(relative, LOSS)) == (worse + 1, 0)


def test_collapsed_classes_are_marked_beside_their_interval():
    marked = dataclasses.replace(IMPACT, collapsed=np.arange(5) == 2)
    assert texts(marked.chart()).count("← collapsed") == 1
    assert "← collapsed" not in texts(class_impact_chart(marked.frame(), "relative"))
    assert drawn(marked.chart(), LOSS) == drawn(IMPACT.chart(), LOSS) + 2
    svg = inline_svg(marked.chart(), "")
    (place,) = re.findall(r'translate\(([\d.]+),[\d.]+\)"[^>]*>← collapsed', svg)
    intervals = re.findall(r'translate\(([\d.]+),[\d.]+\)" x2="([\d.]+)"[^>]*width="1.4"', svg)
    ranks = IMPACT.frame()["change_pp"].rank().astype(int) - 1
    start, width = map(float, intervals[ranks[2]])
    assert float(place) > start + width  # or the interval strikes the words through


# One class


# Pairs of models


def test_bars_of_a_pair_show_its_lost_and_won_shares_and_points_the_change():
    found = result_of("pairs")
    shown = rows_of(found.chart()).set_index("class")
    lost = shown.loc[shown["kind"] == "newly wrong", "share_pp"]
    np.testing.assert_allclose(lost[list("01234")], -100 * found.lost / found.examples)
    changes = shown.loc[shown["kind"].isna(), "change_pp"]
    np.testing.assert_allclose(changes[list("01234")], 100 * found.difference)
    unclear = found.frame()["verdict"].eq("cannot tell").to_numpy() & ~found.collapsed
    collapsed = np.arange(5) == np.flatnonzero(unclear)[0]
    marked = rows_of(dataclasses.replace(found, collapsed=collapsed).chart())
    for rows, claimed in ((marked, True), (shown.reset_index(), False)):
        assert (rows.loc[rows["class"] == str(collapsed.argmax()), "claimed"] == claimed).all()


def test_a_cell_counts_the_images_between_two_predictions():
    flips = result_of("pairs").flips_frame()
    cells = rows_of(flips_chart(flips)).set_index(["before", "after"])["images"]
    assert cells.to_dict() == flips.groupby(["before", "after"]).size().to_dict()
    sides = (
        population(seed, members=1, examples=3000, classes=300, hurt=hurt)
        for seed, hurt in ((1, ()), (2, (1,)))
    )
    pair = compare(*sides)
    chart = flips_chart(pair.flips_frame())
    shown = rows_of(chart)
    assert shown["before"].nunique() <= MOST
    left = len(pair.flips_frame()) - shown["images"].sum()
    assert chart.to_dict()["title"] == f"{left:,} examples in other pairs"
    _, ends = pair.chart().to_dict()["vconcat"]
    assert ends["title"] == "the 12 lowest and the 12 highest of 300 classes"


# Groups and trends


def test_of_many_groups_the_ends_are_named_that_are_more_than_chance():
    many = np.concatenate([np.repeat(np.arange(16), 10), np.repeat(100 + np.arange(20), 2)])
    found = groups(BEFORE, AFTER, pd.Series(many, name="kind"))
    examples = largest_losses_first(found.table)["examples"]
    assert list(examples < 10) == [False] * 16 + [True] * 20
    found = groups(BEFORE, AFTER, WRITERS)
    shown = set(texts(found.chart()))
    ordered = found.frame().sort_values("change_pp", kind="stable")["group"]
    assert any(f"10 smallest losses of {len(ordered)}" in (text or "") for text in shown)
    assert set(ordered.head(10)) | set(ordered.tail(10)) <= shown


def test_ratios_of_attributes_stand_the_highest_first_and_of_many_forty():
    rng = np.random.default_rng(0)
    harmed = np.isin(np.arange(200), result_of("exemplars").index)
    table = pd.DataFrame({f"a{i}": rng.random(200) < 0.5 for i in range(60)})
    chart = attributes(
        population(0),
        population(1, hurt=[3]),
        table.assign(blond=rng.random(200) < 0.2 + 0.7 * harmed),
    ).chart()
    shown = [text for text in texts(chart) if text and "×" in text]
    ratios = [float(re.search(r"([\d.]+) ×", text)[1]) for text in shown]
    assert ratios == sorted(ratios, reverse=True)
    assert len(ratios) == 40
    assert shown[0].startswith("blond, ")


# Corruptions


NAMES = ("fog", "gaussian_noise", "jpeg_compression")


def corrupted(strength):
    conditions = [(name, severity) for name in NAMES for severity in (1, 3)]
    before = {(n, s): population(s, noise=1 + 0.1 * s) for n, s in conditions}
    after = {
        (n, s): population(
            50 + s, noise=1 + 0.1 * s + strength * NAMES.index(n), hurt=[3] * (strength > 0.4)
        )
        for n, s in conditions
    }
    return robustness(before, after, clean=(population(7), population(8)))


@pytest.fixture(scope="module")
def levels():
    return {"magnitude 50 %": corrupted(0.1), "magnitude 90 %": corrupted(0.5)}


def test_corruptions_stand_by_their_deepest_fall_and_the_mean_last(levels):
    chart = relative_change_chart({title: level.changes() for title, level in levels.items()})
    words = [name.replace("_", " ") for name in NAMES]
    shown = [text for text in texts(chart) if text in (*words, "all corruptions")]
    deepest = pd.concat([level.frame().query("k == 1") for level in levels.values()])
    order = deepest.groupby("corruption")["relative_change"].min().sort_values().index
    assert shown == [*(name.replace("_", " ") for name in order), "all corruptions"]
    rows = rows_of(chart)
    row = rows[(rows["corruption"] == "fog") & (rows["level"] == "magnitude 90 %")].iloc[0]
    frame = levels["magnitude 90 %"].frame()
    assert row["relative_change"] == pytest.approx(100 * frame["relative_change"].iloc[0])


def test_curves_begin_with_the_clean_images_and_the_baseline_is_dashed(levels):
    curves = {title: level.curves() for title, level in levels.items()}
    chart = severity_chart(curves, baseline="dense")
    rows = rows_of(chart).query("corruption == 'fog'")
    dense = rows[rows["level"] == "dense"].set_index("severity")["accuracy"]
    assert dense[0] == pytest.approx(100 * population(7).accuracy().mean())
    assert dense[3] == pytest.approx(100 * population(3, noise=1.3).accuracy().mean())
    variants, baseline = chart.to_dict()["vconcat"][1]["concat"][0]["layer"][:2]
    assert baseline["transform"][0]["filter"] == {"field": "level", "equal": "dense"}
    assert variants["transform"][0]["filter"] == {"not": baseline["transform"][0]["filter"]}
    assert baseline["mark"]["strokeDash"]


def test_cells_are_marked_where_they_are_significant(levels):
    level = levels["magnitude 90 %"]
    cells = level.class_frame()
    claimed = cells["verdict"].isin(["lost recall", "gained recall"]).sum()
    assert drawn(class_corruption_chart(level.classes), "#26282e") == claimed > 0


# Chance


def test_bars_of_chance_hold_every_permutation_and_the_line_stands_at_what_was_found():
    found = result_of("chance")
    chart = found.chart().to_dict()
    for panel, row in zip(chart["vconcat"], found.frame().to_dict("records"), strict=True):
        bars, line = (chart["datasets"][layer["data"]["name"]] for layer in panel["layer"])
        assert sum(bar["share"] for bar in bars) == pytest.approx(1)
        assert line == [{"observed": row["observed"]}]
        said = f"{row['count']}: {row['observed']} observed, {row['expected']:.3g} by chance, p "
        assert panel["title"].startswith(said)
    wide = dataclasses.replace(
        found.pies, counts=np.arange(5000), observed=2500, mean=1027.4, permutations=5000, p=0.0001
    )
    chart = dataclasses.replace(found, pies=wide).chart().to_dict()
    bars = chart["datasets"][chart["vconcat"][0]["layer"][0]["data"]["name"]]
    assert len(bars) <= BINS + 1
    assert {bar["high"] - bar["low"] for bar in bars} == {125}
    title = "PIEs: 2,500 observed, 1,027 by chance, p < 0.001"
    assert chart["vconcat"][0]["title"] == title


def test_groups_stand_by_their_loss_and_have_its_colour_only_beyond_chance():
    found = groups(BEFORE, AFTER, pd.Series(NEAR, name="distance"))
    assert [text for text in texts(found.chart()) if text in ("far", "near")] == ["far", "near"]
    lost = (found.frame()["verdict"] == "lost accuracy").sum()
    assert drawn(found.chart(), LOSS, "stroke") == lost == 1
    assert drawn(found.chart(), GAIN, "stroke") == 0


def test_recalls_and_votes_are_those_of_the_members():
    tally = result_of("tally")
    recalls = pd.DataFrame(
        {"title": "dense", "member": tally.members, "recall": tally.recall[:, 3]}
    )
    shown = rows_of(class_recall_chart(recalls))
    assert sorted(shown["percent"]) == pytest.approx(sorted(100 * tally.recall[:, 3]))
    assert drawn(class_recall_chart(recalls.assign(recall=np.nan)), PLUM) == 0
    votes = tally.image(3).assign(title="dense").rename(columns={"class": "name"})
    assert rows_of(votes_chart(votes, "3"))["percent"].sum() == pytest.approx(100)
