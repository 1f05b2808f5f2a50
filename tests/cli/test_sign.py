"""`tfaudit sign` notes decisions, which the next report tells."""

import pytest

from tests.builders.studies import make_study


@pytest.mark.slow
def test_the_last_decision_is_printed_with_the_verdict(tfaudit, refused, tmp_path):
    make_study(tmp_path / "study")
    refused(tfaudit("sign", "study", "int8", "fine", "--by", "Ann"), "decision: got 'fine'")
    refused(tfaudit("sign", "study", "int4", "accepted", "--by", "Ann"), "variant: got 'int4'")
    for decision in ("accepted", "needs work"):
        code, told, _ = tfaudit("sign", "study", "int8", decision, "--by", "Ann", "--note", "[b]")
        assert code == 0
        assert told.startswith(f"{decision} by Ann on ")
        assert told.endswith(": [b]\n")
    code, told, _ = tfaudit("audit", "study")
    assert code == 0
    assert "fixed-point int8: needs work by Ann on " in " ".join(told.split())
    assert "accepted by" not in told
