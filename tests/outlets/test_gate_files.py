"""Verdicts as CI systems read them, whatever the names of classes and variants are; and the chart of a verdict."""

import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from tfaudit.audits.gate.gate import gate
from tfaudit.audits.gate.limits import Limits
from tfaudit.charts.rendering import inline_svg
from tfaudit.errors import Notice
from tfaudit.outlets.gate_files import json_verdicts, junit_verdicts, sarif_verdicts
from tfaudit.predictions import Predictions

HOSTILE = ('<b>&"cat"</b>', "bell\x07 nul\x00 ]]> \x1b[31mred", "owl ]]>", "élan 🦉")


@pytest.fixture(scope="module")
def verdicts():
    labels = np.arange(400) % 4
    limits = Limits(overall_drop_pp=5, worst_class_drop_pp=10, flips=0.5)
    with pytest.warns(Notice, match="bell"):
        before = Predictions.from_top1(labels, labels, class_names=HOSTILE)
    names = before.class_names
    lost = np.where((labels == 1) & (np.arange(400) < 200), 2, labels)
    hurt = Predictions.from_top1(labels, lost, class_names=names)
    few = [Predictions.from_top1([0, 1, 2, 2], [0, 1, 2, 2], class_names=names)] * 2
    return {
        "int8": gate(before, hurt, limits),
        "<&\x01>": gate(*few, limits),
        "same": gate(before, before, limits),
    }


def test_junit_has_the_structure_that_jenkins_and_gitlab_read(verdicts):
    root = ET.fromstring(junit_verdicts(verdicts))
    assert root.tag == "testsuites"
    assert [suite.get("name") for suite in root.findall("testsuite")] == ["int8", "<&>", "same"]
    tags = {"fail": "failure", "cannot judge": "error", "pass": "system-out"}
    for suite, verdict in zip(root, verdicts.values(), strict=True):
        cases = suite.findall("testcase")
        assert {case.get("classname") for case in cases} == {f"tfaudit.gate.{suite.get('name')}"}
        counts = [len(suite.findall(f"testcase{tag}")) for tag in ("", "/failure", "/error")]
        assert [suite.get(name) for name in ("tests", "failures", "errors")] == [*map(str, counts)]
        for case, check in zip(cases, verdict.checks, strict=True):
            (said,) = case
            assert (case.get("name"), said.tag) == (check.name, tags[check.outcome])
            if check.outcome != "pass":
                assert (said.get("type"), said.get("message")) == (check.outcome, said.text)


def test_sarif_names_what_did_not_pass(verdicts):
    (run,) = json.loads(sarif_verdicts(verdicts))["runs"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    expected = [
        (check.name, {"fail": "error", "cannot judge": "warning"}[check.outcome], check.sentence)
        for verdict in verdicts.values()
        for check in verdict.checks
        if check.outcome != "pass"
    ]
    assert len(expected) >= 4
    for (name, level, sentence), result in zip(expected, run["results"], strict=True):
        assert (result["ruleId"], result["level"]) == (name, level)
        assert result["message"]["text"] == sentence
        assert name in rules
        (place,) = result["locations"]
        assert re.fullmatch(r"[\w%]+", place["physicalLocation"]["artifactLocation"]["uri"])


def test_hostile_names_are_escaped_and_control_characters_are_symbols(verdicts):
    content = junit_verdicts(verdicts)
    messages = " ".join(case.get("message") for case in ET.fromstring(content).iter("failure"))
    assert "bell␇ nul␀ ]]> ␛[31mred" in messages
    content.decode("utf-8")
    assert not {b"\x00", b"\x07", b"\x1b"} & {content[i : i + 1] for i in range(len(content))}


def test_json_holds_all(verdicts):
    content = json.loads(json_verdicts(verdicts))
    assert content["format"] == 1
    assert list(content["verdicts"]) == list(verdicts)
    for key, verdict in verdicts.items():
        found = content["verdicts"][key]
        assert (found["outcome"], found["exit_code"]) == (verdict.outcome, verdict.exit_code)
        assert [row["check"] for row in found["checks"]] == list(verdict.frame()["check"])
        assert [row["sentence"] for row in found["checks"]] == list(verdict.frame()["sentence"])
        assert set(found["checks"][0]) == set(verdict.frame().columns)
        assert len(found["classes"]) == 4
    assert content["verdicts"]["<&\x01>"]["classes"][3]["drop_pp"] is None


def drawn(verdict):
    return {text.strip() for text in ET.fromstring(inline_svg(verdict.chart(), "")).itertext()}


def test_the_chart_draws_limits_of_nothing_and_unknown_figures():
    labels = np.arange(40) % 2
    before = Predictions.from_top1(labels, labels)
    after = Predictions.from_top1(labels, np.zeros(40, int))
    limits = Limits(overall_drop_pp=0, flips=0, latency_ms=1)
    verdict = gate(before, after, limits)
    spec = verdict.chart().to_dict()
    (rows,) = spec["datasets"].values()
    places = {row["check"]: row["value_share"] for row in rows}
    assert places["flips"] == 2  # beyond a limit of none: at the edge
    assert places["latency_ms"] is None
    assert "unknown of 1 ms" in drawn(verdict)
