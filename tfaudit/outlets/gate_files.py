"""Verdicts of a gate as files: JUnit XML and SARIF for CI systems, and JSON."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from tfaudit.audits.gate.checks import CANNOT_JUDGE, FAIL, PASS, Check
from tfaudit.audits.gate.gate import Verdict
from tfaudit.audits.gate.limits import Limits

FORMAT = 1  # version of the JSON format; a change that older readers would misread increments it

_ELEMENTS = {PASS: "system-out", FAIL: "failure", CANNOT_JUDGE: "error"}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def json_verdicts(verdicts: Mapping[str, Verdict]) -> bytes:
    """Return the verdicts as UTF-8 JSON, with null instead of NaN.

    Keys: `format`, and `verdicts` with the `Verdict.summary` of each variant.

    Args:
        verdicts: verdicts by variant.

    Example:
        >>> json_verdicts({}).split()
        [b'{', b'"format":', b'1,', b'"verdicts":', b'{}', b'}']
    """
    content = {
        "format": FORMAT,
        "verdicts": {key: verdict.summary() for key, verdict in verdicts.items()},
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False).encode()


def junit_verdicts(verdicts: Mapping[str, Verdict]) -> bytes:
    """Return one test suite per variant and one test case per check, as Jenkins and GitLab read them.

    A failed check contains a `failure`, and a check that cannot be judged an `error`, because CI systems show `skipped`
    as passed. Characters that XML 1.0 forbids are dropped.

    Args:
        verdicts: verdicts by variant.

    Example:
        >>> junit_verdicts({}).decode().splitlines()[1]
        '<testsuites name="tfaudit gate" tests="0" failures="0" errors="0" />'
    """
    checks = [check for verdict in verdicts.values() for check in verdict.checks]
    root = ET.Element("testsuites", {"name": "tfaudit gate", **_counts(checks)})
    root.extend(_suite(key, verdict) for key, verdict in verdicts.items())
    ET.indent(root)
    return ET.tostring(root, encoding="utf-8", xml_declaration=True)


def sarif_verdicts(verdicts: Mapping[str, Verdict]) -> bytes:
    """Return the checks that did not pass as SARIF 2.1.0, as code scanning reads it: errors, or warnings if undecided.

    Args:
        verdicts: verdicts by variant.

    Example:
        >>> json.loads(sarif_verdicts({}))["runs"][0]["results"]
        []
    """
    results = [
        {
            "ruleId": check.name,
            "level": "error" if check.outcome == FAIL else "warning",
            "message": {"text": check.sentence},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": quote(key)}}}],
        }
        for key, verdict in verdicts.items()
        for check in verdict.checks
        if check.outcome != PASS
    ]
    rules = dict.fromkeys([*Limits.__annotations__, *(result["ruleId"] for result in results)])
    driver = {"name": "tfaudit gate", "rules": [{"id": name} for name in rules]}
    return json.dumps(
        {
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{"tool": {"driver": driver}, "results": results}],
        },
        indent=1,
    ).encode()


def _suite(key: str, verdict: Verdict) -> ET.Element:
    name = _xml(key)
    settings = {"name": name, **_counts(verdict.checks), "skipped": "0", "time": "0"}
    suite = ET.Element("testsuite", settings)
    for check in verdict.checks:
        settings = {"classname": f"tfaudit.gate.{name}", "name": check.name, "time": "0"}
        case = ET.SubElement(suite, "testcase", settings)
        sentence = _xml(check.sentence)
        problem = {"message": sentence, "type": check.outcome} if check.outcome != PASS else {}
        ET.SubElement(case, _ELEMENTS[check.outcome], problem).text = sentence
    if verdict.notes:
        ET.SubElement(suite, "system-out").text = _xml("\n".join(verdict.notes))
    return suite


def _counts(checks: Sequence[Check]) -> dict[str, str]:
    outcomes = [check.outcome for check in checks]
    return {
        "tests": str(len(outcomes)),
        "failures": str(outcomes.count(FAIL)),
        "errors": str(outcomes.count(CANNOT_JUDGE)),
    }


def _xml(text: str) -> str:
    return _NOT_XML.sub("", text)
