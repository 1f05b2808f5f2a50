"""A doubt comes first wherever a verdict is shown."""

import io
import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from rich.console import Console

from tfaudit.analysis.recommendation import recommendation
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.gate import gate
from tfaudit.audits.gate.limits import DEFAULT_LIMITS
from tfaudit.audits.model_pair.model_pair import compare
from tfaudit.outlets.gate_files import json_verdicts, junit_verdicts, sarif_verdicts
from tfaudit.outlets.gate_tables import first_screen, verdict_table
from tfaudit.outlets.markdown import gate_markdown, study_markdown
from tfaudit.outlets.pair_tables import pair_tables
from tfaudit.outlets.verdict_table import headline_html
from tfaudit.predictions import Predictions
from tfaudit.store.external import import_predictions

REASON = (
    "The baseline is right on 50.0 % of the examples, and would be on 100.0 % if its outputs were "
    "ant, cat, bee, owl."
)


@pytest.fixture(scope="module")
def swapped():
    labels = np.repeat(np.arange(4), 30)
    predicted = np.array([0, 2, 1, 3])[labels]
    return Predictions.from_top1(labels, predicted, class_names=["ant", "bee", "cat", "owl"])


@pytest.fixture(scope="module")
def study_audit(tmp_path_factory, swapped):
    directory = tmp_path_factory.mktemp("swapped")
    return StudyAudit.read(import_predictions(directory, swapped, {"int8": swapped}, name="study"))


def terminal(renderable):
    console = Console(width=1000, record=True, file=io.StringIO())
    console.print(renderable)
    return console.export_text().strip()


def test_a_verdict_begins_with_the_doubt(swapped):
    verdicts = {"int8": gate(swapped, swapped)}
    assert terminal(verdict_table("int8", verdicts["int8"])).startswith(
        f"int8: CANNOT JUDGE. {REASON} Are the classes in the order of its outputs? `--classes FILE` "
    )
    _, _, head, _, first, *_ = gate_markdown(verdicts).splitlines()
    assert head.endswith("CANNOT JUDGE")
    assert first.startswith(f"- {REASON}")
    (case,) = ET.fromstring(junit_verdicts(verdicts)).iter("testcase")
    assert case[0].tag == "error"
    assert case[0].text.startswith(REASON)
    (run,) = json.loads(sarif_verdicts(verdicts))["runs"]
    assert run["results"][0]["message"]["text"].startswith(REASON)
    assert run["results"][0]["ruleId"] in {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    verdict = json.loads(json_verdicts(verdicts))["verdicts"]["int8"]
    assert verdict["outcome"] == "cannot judge"
    assert verdict["doubts"][0]["order"] == ["ant", "cat", "bee", "owl"]


def test_a_comparison_begins_with_the_doubt(swapped):
    assert terminal(pair_tables({"int8": compare(swapped, swapped)})).startswith(
        f"Cannot judge. {REASON}"
    )


def test_a_study_begins_with_the_doubt(study_audit):
    verdict = study_audit.verdict(DEFAULT_LIMITS)
    assert [doubt.reason for doubt in study_audit.doubts] == [REASON]
    assert terminal(first_screen(verdict)).startswith(f"Cannot judge. {REASON}")
    assert (
        study_markdown(study_audit, DEFAULT_LIMITS)
        .splitlines()[2]
        .startswith(f"Cannot judge. {REASON}")
    )
    page = headline_html(verdict, recommendation(study_audit, verdict)).replace("\u00a0", " ")
    assert f'<p class="headline">Cannot judge. <span>{REASON}' in page
    assert "Ship" not in page
