"""The table of a study says what the single audits say."""

import numpy as np
import pandas as pd
import pytest

from tests.builders.populations import population
from tfaudit.audits.chance.chance import chance
from tfaudit.audits.classes.classes import class_impact
from tfaudit.audits.exemplars.exemplars import exemplars
from tfaudit.audits.gate.measurements import measure
from tfaudit.audits.summary.summary import summary
from tfaudit.predictions import Predictions

POPULATIONS = {"int8": population(2, hurt=[3]), "dense": population(1), "half": population(3)}


@pytest.fixture(scope="module")
def audit():
    facts = {"title": {"int8": "fixed-point int8"}, "bytes": {"int8": 1000.0, "dense": 4000.0}}
    return summary(POPULATIONS, pd.DataFrame(facts))


@pytest.fixture
def table(audit):
    return audit.frame().set_index("variant")


def test_rows_equal_the_single_audits(audit, table):
    assert list(table.index) == ["dense", "int8", "half"]
    counts = class_impact(POPULATIONS["dense"], POPULATIONS["int8"]).summary()
    for name in ("significant", "significant_holm", "significant_bh", "harmed", "favoured"):
        assert table.loc["int8", name] == counts[f"published_{name}"]
    assert table.loc["int8", "pies"] == len(
        exemplars(POPULATIONS["dense"], POPULATIONS["int8"]).index
    )
    assert table.loc["int8", "top1"] == pytest.approx(POPULATIONS["int8"].accuracy().mean())
    assert table.loc["int8", "top5"] == 1
    null = chance(POPULATIONS["dense"], POPULATIONS["int8"]).summary()
    assert table.loc["int8", "expected_by_chance"] == null["significant_by_chance"]
    for name in ("pies_by_chance", "pies_p", "significant_p"):
        assert table.loc["int8", name] == null[name] == audit.chances["int8"].summary()[name]
    assert len(audit.accuracies) == 3 * 6 * 2
    assert audit.summary()["variants"]["int8"]["pies"] == table.loc["int8", "pies"]


def test_a_mean_at_the_half_of_a_printed_digit_is_one_figure_everywhere():
    labels = np.repeat([0, 1], 100)
    top1 = [np.r_[labels[:wrong] + 1, labels[wrong:]] for wrong in (40, 40, 40, 38)]
    models = Predictions.from_top1(labels, top1)
    assert models.accuracy().mean() > 0.8025  # by the last place
    table = summary({"dense": models, "int8": models}).frame()
    measured = measure(models, models).overall
    assert [*table["top1"], *measured.before, *measured.after] == [0.8025] * 4


def test_facts_are_those_that_are_given_and_the_baseline_has_no_tests(table):
    assert list(table["title"]) == ["dense", "fixed-point int8", "half"]
    assert table.loc["dense", "bytes"] == 4000
    assert pd.isna(table.loc["half", "bytes"])
    unknown = [
        "significant",
        "significant_holm",
        "significant_p",
        "pies",
        "pie_share",
        "pies_by_chance",
        "pies_p",
    ]
    assert table.loc["dense", unknown].isna().all()


def test_pairs():
    audit = summary(POPULATIONS, paired=["int8"])
    assert list(audit.chances) == ["half"]
    assert audit.frame().set_index("variant").loc["int8", ["pies_by_chance", "pies_p"]].isna().all()
    null = chance(*both("dense", "int8"), paired=True).summary()
    figures = audit.frame().set_index("variant").loc["int8"]
    assert figures["expected_by_chance"] == null["significant_by_chance"]
    assert audit.chances["half"].frame().equals(chance(*both("dense", "half")).frame())
    few = {key: population(i, members=3) for i, key in enumerate(("dense", "int8"))}
    assert summary(few, paired=["int8"]).notes == ()
    assert summary(few).notes == (
        "Too few models to test how many examples change (PIEs): int8 (p at least 0.1; 4 models would do).",
    )
    few["dense"] = population(0, members=5)
    audit = summary(few, paired=["int8"])
    assert audit.notes == (
        "No counts expected by chance where a member's parent is missing: int8.",
    )
    assert pd.isna(audit.frame().loc[1, "pies_p"])


def both(*keys):
    return [POPULATIONS[key] for key in keys]
