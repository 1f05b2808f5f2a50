"""Verdicts as Markdown, read back by a Markdown parser, whatever the names of classes and variants are."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from markdown_it import MarkdownIt

from tests.builders.studies import make_study
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.gate import gate
from tfaudit.audits.gate.limits import Limits
from tfaudit.outlets.markdown import gate_markdown, model_card, study_markdown
from tfaudit.predictions import Predictions

HOSTILE = ("<b>bold</b>", "a | b", "`code` *star* _line_", "![x](http://x) [y](z) \\")


def read(markdown):
    """The tables as lists of rows of text, and the whole text; raw HTML stays text."""
    page = MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)
    tree = ET.fromstring(f"<page>{page.replace('<br>', '<br/>')}</page>")
    tables = [
        [["".join(cell.itertext()) for cell in row] for row in table.iter("tr")]
        for table in tree.iter("table")
    ]
    assert not list(tree.iter("img"))
    assert not list(tree.iter("a"))
    return tables, "".join(tree.itertext())


@pytest.fixture(scope="module")
def verdicts():
    labels = np.arange(400) % 4
    before = Predictions.from_top1(labels, labels, class_names=HOSTILE)
    wrong = np.where((labels == 1) & (np.arange(400) < 200), 2, labels)
    hurt = Predictions.from_top1(labels, wrong, class_names=HOSTILE)
    limits = Limits(overall_drop_pp=50, worst_class_drop_pp=10)
    return {"same | *": gate(before, before, limits), "int8": gate(before, hurt, limits)}


def test_every_check_and_the_worst_classes_are_told(verdicts):
    markdown = gate_markdown(verdicts)
    tables, text = read(markdown)
    assert text.index("int8: ❌ FAIL") < text.index("same | *: ✅ pass")  # the gravest first
    checks = tables[0]
    assert [len(row) for row in checks] == [5] * len(checks)
    assert [row[1] for row in checks[1:]] == ["drop of worst class", "overall drop"]
    assert checks[1][2] == "50.00 pp"
    classes = tables[1]
    assert classes[1][0] == HOSTILE[1]
    assert classes[1][2].startswith("−50.0 (")
    assert {row[0] for row in classes[1:]} == set(HOSTILE)


@pytest.fixture(scope="module")
def study_audit(tmp_path_factory):
    return StudyAudit.read(
        make_study(tmp_path_factory.mktemp("markdown") / "study"), permutations=0
    )


@pytest.mark.parametrize("passes", [False, True])
def test_a_model_card_has_the_metrics_of_what_may_ship(study_audit, passes):
    yaml = pytest.importorskip("yaml")
    limits = Limits(overall_drop_pp=90, worst_class_drop_pp=99 if passes else 1)
    _, front, page = model_card(study_audit, limits).split("---\n", 2)
    assert page.strip() == study_markdown(study_audit, limits).strip()
    (model,) = yaml.safe_load(front)["model-index"]
    (result,) = model["results"]
    assert model["name"] == "small"
    assert (result["task"]["type"], result["dataset"]["type"]) == ("image-classification", "digits")
    row = study_audit.verdict(limits).frame().query("best")
    assert len(row) == passes
    if passes:
        best = study_audit.data.populations[row["variant"].item()]
        right = best.top1 == best.labels
        worst = best.class_names.index(row["worst_class"].item())
        expected = [right.mean(), right[:, best.labels == worst].mean()]
        assert row["worst_class"].item() in result["metrics"][1]["name"]  # it holds HTML
    else:
        expected = [study_audit.data.baseline.accuracy().mean()]
    values = [metric["value"] for metric in result["metrics"]]
    assert values == pytest.approx(expected, abs=1e-4)
