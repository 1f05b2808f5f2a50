"""The verdict as people read it: words, marks and figures, with names as text."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest
from markupsafe import escape

from tests.builders.populations import population
from tests.builders.studies import NAMES
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.gate.measurements import measure
from tfaudit.audits.verdict.study_verdict import study_verdict
from tfaudit.outlets.columns import cell_of, verdict_columns
from tfaudit.outlets.verdict_table import headline_html, verdict_html
from tfaudit.outlets.verdict_texts import groups_grid


@pytest.fixture(scope="module")
def verdict():
    dense = population(0)
    compressed = {"pruned": population(1, hurt=[3]), "<i>same": dense}
    return study_verdict({key: measure(dense, after) for key, after in compressed.items()})


def html(verdict):
    return verdict_html(verdict, {key: f"#{i}" for i, key in enumerate(verdict.frame()["variant"])})


def test_rows_say_what_the_verdict_says(verdict):
    columns = verdict_columns()
    rows = verdict.frame().to_dict("records")
    cells = [{name: cell_of(name, entry, row) for name, entry in columns.items()} for row in rows]
    for shown, figures in zip(cells, rows, strict=True):
        assert shown["reason"].text.replace("−", "-") == figures["reason"]
        assert shown["top1"].text == f"{100 * figures['top1']:.1f}"
        assert shown["worst_class"].text == figures["worst_class"]
        before, after = (f"{100 * figures[f'worst_{side}']:.1f}" for side in ("before", "after"))
        assert shown["worst_class"].beside == f"{before} → {after} %"
    assert cells[0]["worst_class"].text == "3"
    assert cells[0]["change_pp"].text.startswith("−")
    assert "lost recall" in cells[0]["worst_class"].below
    assert cells[1]["change_pp"].text == "0.0"


def test_named_groups_stand_below_the_variants():
    dense, pruned = population(0, examples=400), population(1, examples=400, hurt=[3])
    groups = pd.DataFrame({"digit": dense.labels, "<b>": np.arange(400) % 2})
    measured = {
        key: measure(dense, after).with_groups(dense, after, groups)
        for key, after in {"pruned": pruned, "same": dense}.items()
    }
    verdict = study_verdict(measured, limits=Limits(group_drop_pp={"digit": 5, "<b>": 50}))
    frame = verdict.groups_frame()
    assert frame.iloc[0][["title", "group", "outcome"]].tolist() == ["pruned", "digit: 3", "fail"]
    losses = measured["pruned"].groups
    assert frame["change_pp"].iloc[0] == -losses.loss[losses.names.index("digit: 3")]
    assert frame["change_low_pp"].iloc[0] == -losses.high[losses.names.index("digit: 3")]
    assert len(frame) == 2 * len(losses.names)
    digits = study_verdict(measured, limits=Limits(group_drop_pp={"digit": 5})).groups_frame()
    assert digits["group"].str.startswith("digit").all()
    page = groups_grid(verdict).folded_html()
    assert "&lt;b&gt;: 1" in page
    first = re.search(r"<tbody>\s*<tr>.*?</tr>", page, re.DOTALL)[0]
    assert all(text in first for text in ("pruned", "digit: 3", "✗", ">5<"))
    assert groups_grid(study_verdict(measured, limits=Limits(overall_drop_pp=5))).rows == []


def test_nothing_is_told_by_colour_alone_and_names_are_text(verdict):
    text = html(verdict)
    for row in verdict.frame().to_dict("records"):
        mark = {"pass": "✓", "fail": "✗", "passes uncorrected": "✓", "cannot judge": "?"}[
            row["outcome"]
        ]
        assert f'<span aria-hidden="true">{mark}</span>&nbsp;{row["outcome"].upper()}' in text
    assert text.count("★ recommended") == (verdict.best is not None)
    assert "<i>" not in text
    assert str(escape("<i>same")) in text
    assert len(re.findall("<th scope=.col", text)) == len(["title", "outcome", *verdict_columns()])


def test_collapsed_classes_unfold_in_the_row_of_their_variant(verdict):
    gone = dataclasses.replace(verdict, collapsed={"pruned": f"{NAMES[0]} & others collapsed."})
    (row,) = re.findall(r'<tr data-variant="pruned".*?</tr>', html(gone), re.DOTALL)
    assert f"{escape(NAMES[0])} &amp; others collapsed." in row.partition("<details>")[2]
    assert "<script" not in row
    assert html(gone).count("<details>") == 1
    assert "<details>" not in html(dataclasses.replace(verdict, collapsed={}))


def test_the_variant_that_leads_comes_first_and_what_is_missing_above_all(verdict):
    assert verdict.best is None
    assert verdict.lead == "<i>same"  # it passes as far as the data tell; the other fails
    assert html(verdict).index(str(escape("<i>same"))) < html(verdict).index("pruned")
    text = headline_html(dataclasses.replace(verdict, missing=("int8: 1 of 3 members.",)), None)
    assert text.index("int8: 1 of 3 members.") < text.index('class="headline"')
