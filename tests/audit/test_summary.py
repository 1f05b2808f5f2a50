"""The table of a study says what the single audits say."""

import pandas as pd
import pytest

from tests.audit.populations import population
from tfaudit.audit.classes import class_impact
from tfaudit.audit.exemplars import exemplars
from tfaudit.audit.summary import summary
from tfaudit.errors import InputError

POPULATIONS = {"int8": population(2, hurt=[3]), "dense": population(1), "half": population(3)}


def test_rows_equal_the_single_audits():
    facts = pd.DataFrame({"title": {"int8": "fixed-point int8"}, "bytes": {"int8": 1000.0, "dense": 4000.0}})
    audit = summary(POPULATIONS, facts)
    table = audit.frame().set_index("variant")
    assert list(table.index) == ["dense", "int8", "half"]
    counts = class_impact(POPULATIONS["dense"], POPULATIONS["int8"]).summary()
    for name in ("significant", "expected_by_chance", "significant_holm", "significant_bh", "harmed", "favoured"):
        assert table.loc["int8", name] == counts[name]
    assert table.loc["int8", "pies"] == len(exemplars(POPULATIONS["dense"], POPULATIONS["int8"]).index)
    assert table.loc["int8", "top1"] == POPULATIONS["int8"].accuracy().mean()
    assert table.loc["int8", "top5"] == 1
    assert list(table["title"]) == ["dense", "fixed-point int8", "half"]
    assert table.loc["dense", "bytes"] == 4000
    assert pd.isna(table.loc["half", "bytes"])
    assert table.loc["dense", ["significant", "significant_holm", "pies", "pie_share"]].isna().all()
    assert len(audit.accuracies) == 3 * 6 * 2
    assert audit.summary()["variants"]["int8"]["pies"] == table.loc["int8", "pies"]


def test_single_members_are_not_tested():
    audit = summary({key: population(i, members=1) for i, key in enumerate(("dense", "int8"))})
    row = audit.frame().iloc[1]
    assert pd.isna(row["significant"])
    assert row["pies"] > 0
    assert not audit.impacts
    assert audit.notes == ("No tests per class where a population has a single member: dense, int8.",)


def test_baseline_alone():
    audit = summary({"dense": POPULATIONS["dense"]})
    assert len(audit.frame()) == 1
    assert not audit.notes


def test_fewer_than_five_ranks():
    assert summary({"dense": population(1, ranks=2)}).frame()["top5"].isna().all()


def test_notes_are_said_once():
    audit = summary({key: population(i, empty=[2]) for i, key in enumerate(("dense", "a", "b"))})
    assert len(audit.notes) == 1


def test_no_baseline():
    with pytest.raises(InputError, match="baseline: 'dense', the populations are int8"):
        summary({"int8": POPULATIONS["int8"]})
