"""Charts in which a class is chosen and looked into, and those of exemplars, hold what they should in any theme."""

import functools
import re
import xml.etree.ElementTree as ET

import altair as alt
import numpy as np
import pandas as pd
import pytest

from tests.builders.drawings import assert_fits, rows_of, texts
from tests.builders.populations import population
from tfaudit.audits.classes.chart import ranked_classes
from tfaudit.audits.classes.classes import class_impact
from tfaudit.audits.classes.selection_chart import (
    CLASS,
    RANGE,
    class_choice_chart,
    range_choice_chart,
)
from tfaudit.audits.exemplars.chart import difficulty_bars, pie_count_chart
from tfaudit.audits.exemplars.exemplars import exemplars
from tfaudit.audits.prediction_counts.chart import (
    OTHERS,
    class_recall_chart,
    confusion_chart,
    votes_chart,
)
from tfaudit.audits.prediction_counts.prediction_counts import count_predictions
from tfaudit.charts.rendering import inline_svg
from tfaudit.charts.style import AMBER, GAIN, GREEN, GREY, PLUM, SLATE

IMPACT = class_impact(population(1), population(2, hurt=[3]))
RANKED = ranked_classes(IMPACT.frame())
TALLIES = {
    "dense": count_predictions(population(1)),
    "90 %": count_predictions(population(2, hurt=[3])),
}


def recalls(label):
    return pd.concat(
        pd.DataFrame({"title": title, "member": each.members, "recall": each.recall[:, label]})
        for title, each in TALLIES.items()
    )


def votes(position=3):
    tables = [each.image(position).assign(title=title) for title, each in TALLIES.items()]
    return pd.concat(tables).rename(columns={"class": "name"})


FOUND = exemplars(population(1), population(2, hurt=[3]))
COUNTS = pd.DataFrame(
    {
        "title": ["a", "b"],
        "pies": [3, 40],
        "low": [1, np.nan],
        "expected": [3.3, np.nan],
        "high": [6, np.nan],
    }
)
ANSWERS = pd.DataFrame({"name": ["owl", "cat"], "before": [0.25, 0.05], "after": [0.1, 0.2]})


@functools.cache
def charts():
    return {
        "range": range_choice_chart(RANKED, "name", (1, 3)),
        "choice": class_choice_chart(RANKED, 3),
        "recall": class_recall_chart(recalls(3)),
        "confusion": confusion_chart(ANSWERS),
        "votes": votes_chart(votes(), "3"),
        "counts": pie_count_chart(COUNTS),
        "difficulty": difficulty_bars(FOUND.difficulty),
    }


def marks(chart, colour):
    return len(re.findall(f'<path [^>]*fill="{colour}"', inline_svg(chart, "")))


@pytest.mark.parametrize(
    "name", ["range", "choice", "recall", "confusion", "votes", "counts", "difficulty"]
)
def test_charts_fit_a_page_and_a_dark_one(name):
    assert_fits(charts()[name], 560)


def test_a_click_on_a_line_chooses_its_class():
    spec = charts()["choice"].to_dict()
    (parameter,) = spec["params"]
    assert parameter["name"] == CLASS
    assert parameter["select"]["fields"] == ["position"]
    assert sorted(rows_of(charts()["choice"])["position"]) == [0, 1, 2, 3, 4]
    assert marks(charts()["choice"], AMBER) == 1
    assert marks(class_choice_chart(RANKED), AMBER) == 0


def test_dragging_chooses_ranks():
    (parameter,) = charts()["range"].to_dict()["params"]
    assert (parameter["name"], parameter["select"]["encodings"], parameter["value"]) == (
        RANGE,
        ["x"],
        {"x": [1, 3]},
    )
    assert "value" not in range_choice_chart(RANKED, "name").to_dict()["params"][0]
    assert "classes, by name" in texts(charts()["range"])


def test_classes_rank_by_any_column_and_keep_their_positions():
    ranked = ranked_classes(IMPACT.frame(), "change_p", ascending=False)
    assert list(ranked["change_p"]) == sorted(IMPACT.changes.absolute.p(), reverse=True)
    assert list(ranked["rank"]) == [1, 2, 3, 4, 5]
    for row in ranked.to_dict("records"):
        assert row["change_p"] == IMPACT.changes.absolute.p()[row["position"]]


@pytest.mark.parametrize(
    ("question", "verdict"), [("change", "verdict"), ("relative", "relative_verdict")]
)
def test_kinds_are_the_verdicts_of_one_question(question, verdict):
    frame = IMPACT.frame("none")
    kinds = ranked_classes(frame, question=question).set_index("position")["kind"]
    for position, row in frame.iterrows():
        side = "lower" if row[f"{question}_pp"] < 0 else "higher"
        told = row[verdict]
        assert kinds[position] == (f"cannot tell, {side}" if told == "cannot tell" else told)


def test_recall_has_a_dot_per_member_and_a_bar_per_variant():
    drawn = charts()["recall"]
    shown = rows_of(drawn)
    for title, each in TALLIES.items():
        assert sorted(shown.loc[shown["title"] == title, "percent"]) == pytest.approx(
            sorted(100 * each.recall[:, 3])
        )
    assert marks(drawn, SLATE) == 12
    assert marks(drawn, PLUM) == 2
    assert [text for text in texts(drawn) if text in TALLIES] == ["dense", "90 %"]


def test_a_class_without_examples_draws_nothing_and_fails_nowhere():
    empty = recalls(3).assign(recall=np.nan)
    assert marks(class_recall_chart(empty), PLUM) == 0


def test_confusion_keeps_the_order_of_the_answers():
    shown = rows_of(charts()["confusion"])
    assert dict(zip(shown["name"] + shown["when"], shown["percent"], strict=True)) == pytest.approx(
        {"owlbefore": 25, "owlafter": 10, "catbefore": 5, "catafter": 20}
    )
    assert [text for text in texts(charts()["confusion"]) if text in ("owl", "cat")] == [
        "owl",
        "cat",
    ]


def test_votes_of_every_variant_add_up():
    shown = rows_of(charts()["votes"])
    assert shown.groupby("title")["percent"].sum().tolist() == pytest.approx([100, 100])
    assert list(shown["title"].drop_duplicates()) == ["dense", "90 %"]


def test_the_true_class_has_the_colour_of_gains_also_where_nobody_predicts_it():
    table = pd.DataFrame(
        {"title": "dense", "name": list("abcdefg"), "share": [0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1]}
    )
    spec = votes_chart(table, "z").to_dict()["encoding"]["color"]["scale"]
    assert (spec["domain"][0], spec["range"][0]) == ("z", GAIN)
    assert (spec["domain"][-1], spec["range"][-1]) == (OTHERS, GREY)
    shown = rows_of(votes_chart(table, "z"))
    assert shown.loc[shown["prediction"] == OTHERS, "percent"].tolist() == pytest.approx([20])


def test_counts_without_figures_by_chance_have_no_band():
    assert marks(charts()["counts"], PLUM) == 2
    assert marks(charts()["counts"], GREY) == 2  # a band and its middle


def test_difficulty_has_three_bars_per_population_and_k():
    drawn = charts()["difficulty"]
    shown = rows_of(drawn).set_index(["panel", "group"])["accuracy"]
    for row in FOUND.difficulty.to_dict("records"):
        assert shown[f"{row['population']}, top-{row['k']}", row["group"]] == pytest.approx(
            100 * row["accuracy"]
        )
    assert [marks(drawn, colour) for colour in (PLUM, GREEN, GREY)] == [5, 5, 5]  # with the legend
    order = [text for text in texts(drawn) if "top-" in text]
    assert order == ["baseline, top-1", "compressed, top-1", "baseline, top-5", "compressed, top-5"]


def test_difficulty_without_pies_has_two():
    nobody = exemplars(population(1), population(1)).difficulty
    assert marks(difficulty_bars(nobody), PLUM) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "x" * 300, "🐈, a:b[0]", 'it\'s "quoted" \\']
)
def test_hostile_names_are_text(name):
    named = RANKED.assign(name=[name, *"abcd"], **{"class": [name, *"abcd"]})
    drawn = {
        "choice": class_choice_chart(named, 3),
        "range": range_choice_chart(named, name),
        "recall": class_recall_chart(recalls(3).replace("dense", name)),
        "votes": votes_chart(votes().replace("3", name), name),
        "confusion": confusion_chart(ANSWERS.replace("owl", name)),
        "counts": pie_count_chart(COUNTS.replace("a", name)),
    }
    for chart in drawn.values():
        assert isinstance(chart, alt.TopLevelMixin)
        svg = inline_svg(chart, "")
        assert "<script" not in svg
        ET.fromstring(svg)
    assert marks(drawn["recall"], SLATE) == 12
