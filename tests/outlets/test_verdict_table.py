"""The verdict as people read it: words, marks and figures, with names as text."""

import dataclasses
import io
import re

import pytest
from markupsafe import escape
from rich.console import Console

from tests.builders.populations import population
from tests.builders.studies import NAMES
from tfaudit.audits.gate.measurements import measure
from tfaudit.audits.verdict.study_verdict import study_verdict
from tfaudit.outlets.gate_tables import first_screen
from tfaudit.outlets.verdict_table import SHOWN, verdict_html, verdict_rows


@pytest.fixture(scope="module")
def verdict():
    dense = population(0)
    compressed = {"pruned": population(1, hurt=[3]), "<i>same": dense}
    return study_verdict({key: measure(dense, after) for key, after in compressed.items()})


def html(verdict, several=True):
    return verdict_html(
        verdict, {key: f"#{i}" for i, key in enumerate(verdict.frame()["variant"])}, several=several
    )


def test_rows_say_what_the_verdict_says(verdict):
    rows = verdict_rows(verdict, {"pruned": "#a", "<i>same": "#b"})
    for row, figures in zip(rows, verdict.frame().to_dict("records"), strict=True):
        assert (row.outcome, row.worst) == (figures["outcome"], figures["worst_class"])
        assert row.reason.replace("−", "-") == figures["reason"]
        assert row.top1 == f"{100 * figures['top1']:.1f}\u00a0%"
        assert row.recalls.startswith(
            f"{100 * figures['worst_before']:.1f} → {100 * figures['worst_after']:.1f}"
        )
        assert row.best == (figures["variant"] == verdict.best)
    assert rows[0].worst == "3"
    assert rows[0].change[0].startswith("−")
    assert "lost recall" in rows[0].lost
    assert rows[1].change[0] == "0.0"


def test_nothing_is_told_by_colour_alone_and_names_are_text(verdict):
    text = html(verdict)
    for row in verdict.frame().to_dict("records"):
        mark = {"pass": "✓", "fail": "✗", "cannot judge": "?"}[row["outcome"]]
        assert f'<span aria-hidden="true">{mark}</span>&nbsp;{row["outcome"].upper()}' in text
    assert text.count("★ smallest that passes") == (verdict.best is not None)
    assert "<i>" not in text
    assert str(escape("<i>same")) in text
    assert len(re.findall("<th scope=.col", text)) == 8


def test_alerts_stand_above_and_many_unfold(verdict):
    many = dataclasses.replace(
        verdict, alerts=tuple(f"{name} & others collapsed" for name in NAMES)
    )
    text = html(many)
    above, folded = text.split("<details>")
    assert above.count("<li>") == SHOWN
    assert f"{len(NAMES) - SHOWN} more alerts" in folded
    assert "<script" not in text
    assert "<details>" not in html(dataclasses.replace(verdict, alerts=()))


def test_single_models_have_predictions(verdict):
    assert "majority prediction" in html(verdict)
    assert "majority prediction" not in html(verdict, several=False)


def test_no_word_of_a_name_is_broken_in_a_narrow_terminal():
    dense = population(0)
    name = "magnitude 90 %, quantization-aware int8"
    verdict = study_verdict({name: measure(dense, population(1, hurt=[3]))})
    console = Console(width=74, record=True, file=io.StringIO())  # without sizes; with them 80
    console.print(first_screen(verdict))
    rows = console.export_text().splitlines()
    assert max(map(len, rows)) <= 74
    assert any(row.startswith("quantization-aware") for row in rows)
