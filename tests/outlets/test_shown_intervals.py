"""A shown interval holds the value that is shown beside it, in the same unit, in every outlet."""

import io
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup
from rich.console import Console

from tests.builders.extension_contracts import contributed
from tests.builders.populations import population
from tfaudit.audits.classes.classes import class_impact
from tfaudit.audits.classes.declaration import CLASSES
from tfaudit.audits.flips.declaration import NEGATIVE_FLIPS
from tfaudit.audits.flips.negative_flips import flip_rates
from tfaudit.audits.gate.gate import gate
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.gate.measurements import measure
from tfaudit.audits.groups.declaration import GROUPS
from tfaudit.audits.groups.groups import groups
from tfaudit.audits.model_pair.declaration import MODEL_PAIR
from tfaudit.audits.model_pair.model_pair import compare
from tfaudit.audits.verdict.study_verdict import study_verdict
from tfaudit.outlets.columns import column, text_columns
from tfaudit.outlets.gate_files import json_verdicts
from tfaudit.outlets.gate_tables import first_screen, verdict_table
from tfaudit.outlets.markdown import gate_markdown
from tfaudit.outlets.verdict_table import verdict_html

LIMITS = Limits(
    overall_drop_pp=1, worst_class_drop_pp=3, share_beyond=0.6, flips=0.05, negative_flips=0.03
)
NUMBER = r"[+−-]?\d[\d.,]*"
IN_CHECKS = re.compile(rf"({NUMBER}) (%|pp)[ |]+({NUMBER}) to ({NUMBER}) (%|pp)")
IN_BRACKETS = re.compile(
    rf"({NUMBER})(?: points| %)? \((?:95 %: )?({NUMBER}) to ({NUMBER})(?: %)?\)"
)
LOSS = re.compile(
    rf"(falls|rises) by ({NUMBER}) points \(95 % interval of the loss ({NUMBER}) to ({NUMBER})"
)
SHARE = re.compile(
    rf"({NUMBER}) % of the predictions [a-z ]+\(95 % interval ({NUMBER}) to ({NUMBER}) %\)"
)
LEAST, MOST = re.compile(r"low(?=_|$)"), "high"
DRAWN = st.fixed_dictionaries(
    {
        "world": st.integers(0, 10**6),
        "members": st.sampled_from([1, 3]),
        "examples": st.integers(40, 500),
        "classes": st.integers(2, 6),
        "noise": st.sampled_from([0.01, 0.1, 1.0]),
    }
)


def number(text):
    return float(text.replace("−", "-").replace(",", "").rstrip("."))


def holds(value, low, high):
    assert low <= value <= high, (value, low, high)


def shown_in(text):
    """Every value with its interval in a text: in columns, in brackets, in sentences."""
    for value, unit, low, high, same in IN_CHECKS.findall(text):
        assert unit == same
        yield number(value), number(low), number(high)
    for value, low, high in (*IN_BRACKETS.findall(text), *SHARE.findall(text)):
        yield number(value), number(low), number(high)
    for moves, value, low, high in LOSS.findall(text):
        yield (1 if moves == "falls" else -1) * number(value), number(low), number(high)


def in_terminal(content):
    console = Console(width=240, record=True, file=io.StringIO())
    console.print(content)
    return console.export_text()


@settings(max_examples=25, deadline=None)
@given(DRAWN, st.integers(0, 2))
def test_in_the_terminal_in_markdown_in_json_and_on_pages(drawn, hurt):
    before, after = (population(seed, hurt=[hurt][:seed], **drawn) for seed in (0, 1))
    verdict = gate(before, after, LIMITS)
    study = study_verdict({"small": measure(before, after)}, limits=LIMITS)
    rows = re.sub(r"<small>(.*?)</small>", r" (\1)", verdict_html(study, {"small": "#"}))
    texts = {
        "terminal": in_terminal(verdict_table("small", verdict)),
        "first screen": in_terminal(first_screen(study)),
        "Markdown": gate_markdown({"small": verdict}),
        "page": Markup(rows).striptags(),
    }
    for outlet, text in texts.items():
        figures = [*shown_in(text)]
        assert len(figures) >= (
            0 if verdict.doubts else 1 if outlet in ("first screen", "page") else 5
        )
        for value, low, high in figures:
            holds(value, low, high)
    for check in json.loads(json_verdicts({"small": verdict}))["verdicts"]["small"]["checks"]:
        if None not in (check["value"], check["low"]):  # no class may show what it loses
            holds(check["value"], check["low"], check["high"])


AUDITS = {
    "classes": (CLASSES, class_impact, {"members": 3}),
    "one model": (MODEL_PAIR, compare, {"members": 1}),
    "flips": (NEGATIVE_FLIPS, flip_rates, {}),
    **dict(contributed("SHOWN_INTERVALS")),
    "groups": (GROUPS, lambda *sides, paired: groups(*sides, sides[0].labels % 2), {}),
}


def value_of(low, names):
    """The name of the column whose interval begins in a column."""
    candidates = [LEAST.sub(part, low) for part in ("", "share")]
    candidates = [name.replace("__", "_").strip("_") for name in candidates]
    candidates.append(f"accuracy_{low.removesuffix('_low')}")
    return next(name for name in candidates if name in names)


@pytest.mark.parametrize("audit", AUDITS)
@settings(max_examples=10, deadline=None)
@given(drawn=DRAWN)
def test_in_tables_of_reports_and_of_the_viewer(audit, drawn):
    display = pytest.importorskip("tfaudit.app.display")
    declaration, measured, needed = AUDITS[audit]
    sides = [population(seed, **drawn | needed) for seed in (0, 1)]
    result = measured(*sides) if needed.get("members") == 1 else measured(*sides, paired=True)
    for table in declaration.tables.values():
        frame = table.rows(result)
        frame = frame[[name for name in table.columns or frame if name in frame]]
        for low in filter(LEAST.search, frame):
            triple = [value_of(low, frame), low, LEAST.sub(MOST, low)]
            entries = [column(name, table.catalogue) for name in triple]
            assert len({(entry.form, entry.scale) for entry in entries}) == 1, triple
            assert len({entry.unit == "%" for entry in entries}) == 1, triple
            known = frame[triple].dropna()
            in_report = [part.cells for part in text_columns(known, triple, table.catalogue)]
            in_viewer = [
                [display._text(entry, cell) for cell in display._written(known[name], entry, True)]
                for name, entry in zip(triple, entries, strict=True)
            ]
            for row in (*zip(*in_report, strict=True), *zip(*in_viewer, strict=True)):
                holds(*(number(cell.removesuffix(" %")) for cell in row))
