"""Every chart fits its page, light and dark, and holds names as text, whatever they are."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

from tests.builders.drawings import assert_fits
from tests.builders.extension_contracts import contributed
from tests.builders.populations import population
from tests.builders.results import RESULTS, result_of
from tfaudit.app.flips_chart import flips_chart
from tfaudit.app.prediction_charts import (
    class_recall_chart,
    confusion_chart,
    votes_chart,
)
from tfaudit.app.selection_chart import class_choice_chart, range_choice_chart
from tfaudit.audits.classes.chart import ranked_classes
from tfaudit.audits.classes.classes import class_impact
from tfaudit.audits.exemplars.chart import difficulty_bars, pie_count_chart
from tfaudit.audits.groups.groups import groups
from tfaudit.audits.model_pair.model_pair import compare
from tfaudit.audits.result import Result
from tfaudit.audits.robustness.chart import relative_change_chart, severity_chart
from tfaudit.audits.robustness.class_chart import class_corruption_chart
from tfaudit.audits.robustness.robustness import robustness
from tfaudit.charts.rendering import inline_svg
from tfaudit.predictions import Predictions

BEFORE, AFTER = population(1), population(2, hurt=[3])
METHODS = (
    "chart",
    "severity_chart",
    "class_chart",
    "diagnostics_chart",
    "groups_chart",
    "individuals_chart",
    "change_chart",
    "histogram",
    "scatter",
)
WIDE = ("factors", "factors, binomial", "factors of a study", "plan", "range", "many classes")


def level(names=("fog", "snow")):
    sides = ({(name, 1): population(first) for name in names} for first in (1, 2))
    return robustness(*sides, clean=(BEFORE, AFTER))


SHARES = pd.DataFrame({"name": ["owl", "cat"], "before": [0.25, 0.05], "after": [0.1, 0.2]})
VOTES = pd.DataFrame({"title": "dense", "name": ["owl", "cat"], "share": [0.7, 0.3]})
RECALLS = pd.DataFrame({"title": ["dense", "owl"], "member": 0, "recall": [0.5, np.nan]})
COUNTS = pd.DataFrame(
    {
        "title": ["owl", "b"],
        "pies": [3, 40],
        "low": [1, np.nan],
        "expected": [3.3, np.nan],
        "high": [6, np.nan],
    }
)
NAMED = ranked_classes(class_impact(BEFORE, AFTER).frame()).replace({"name": {"3": "owl"}})
LONG = "a name that is far too long for the margin of a chart in half a page"
# Charts of tables, and of results with names or sizes that crowd them.
OF_TABLES = {
    "range": lambda: range_choice_chart(NAMED, "name", (1, 3)),
    "choice": lambda: class_choice_chart(NAMED, 3),
    "recalls": lambda: class_recall_chart(RECALLS),
    "confusion": lambda: confusion_chart(SHARES),
    "votes": lambda: votes_chart(VOTES, "owl"),
    "counts": lambda: pie_count_chart(COUNTS),
    "difficulty": lambda: difficulty_bars(result_of("exemplars").difficulty),
    "difficulty, none": lambda: difficulty_bars(result_of("exemplars, none").difficulty),
    "levels": lambda: relative_change_chart(
        {f"{LONG[:20]} {i}": level().changes() for i in range(12)}, k=5
    ),
    "severities": lambda: severity_chart({"int8": level().curves()}, baseline="dense"),
    "corruptions": lambda: class_corruption_chart(
        level(tuple(f"a_long_corruption_{i}" for i in range(19))).classes
    ),
    "long groups": lambda: groups(BEFORE, AFTER, np.full(200, LONG)).chart(),
    "many groups": lambda: groups(BEFORE, AFTER, np.arange(200) // 2).chart(),
    "many classes": lambda: compare(
        *(population(seed, members=1, examples=600, classes=60) for seed in (1, 2))
    ).chart(),
    "flips": lambda: flips_chart(result_of("pairs").flips_frame()),
    **dict(contributed("CHARTS")),
}


def draws(result, method):
    return getattr(type(result), method, Result.chart) is not Result.chart


@pytest.mark.parametrize("name", RESULTS)
def test_every_chart_of_a_result_fits_a_page_and_a_dark_one(name):
    result = result_of(name)
    for method in METHODS:
        if draws(result, method):
            assert_fits(getattr(result, method)(), 580 if name in WIDE else 470)


@pytest.mark.parametrize("name", OF_TABLES)
def test_every_chart_of_a_table_fits_a_page_and_a_dark_one(name):
    assert_fits(OF_TABLES[name](), 580 if name in WIDE else 470)


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "x" * 300, "🐈, a:b[0] \"'\\"])
def test_hostile_names_are_text(name):
    tables = (table.replace("owl", name) for table in (NAMED, RECALLS, SHARES, COUNTS))
    named, recalls, shares, counts = tables
    impact = class_impact(
        *(Predictions(p.labels, p.ranked, class_names=[name, *"abcd"]) for p in (BEFORE, AFTER))
    )
    for chart in (
        impact.chart(),
        class_choice_chart(named, 3),
        range_choice_chart(named, name),
        class_recall_chart(recalls),
        votes_chart(VOTES.replace("owl", name), name),
        confusion_chart(shares),
        pie_count_chart(counts),
    ):
        svg = inline_svg(chart, 'say "<x>"')
        assert "<script" not in svg
        assert 'role="img" aria-label="say &quot;&lt;x&gt;&quot;"' in svg
        ET.fromstring(svg)
        ids = set(re.findall(r'\bid="([^"]+)"', svg))
        assert set(re.findall(r"url\(#([^)]+)\)", svg)) <= ids
        assert not ids & set(re.findall(r'\bid="([^"]+)"', inline_svg(chart, "")))
