"""Decisions of people on variants: kept whole, the last one holds, and it says when the models changed since."""

import concurrent.futures
import json

import pytest

from tests.builders.studies import make_study
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.limits import DEFAULT_LIMITS
from tfaudit.errors import InputError
from tfaudit.outlets.markdown import study_markdown
from tfaudit.store.sign_offs import read_sign_offs, sign_off

SEEN = {"note": "", "predictions": "digest"}


def test_no_decision_is_lost_when_many_decide_at_once(tmp_path):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(
            pool.map(
                lambda number: sign_off(tmp_path, f"v{number}", "accepted", by="Ann", **SEEN),
                range(12),
            )
        )
    assert len(read_sign_offs(tmp_path)) == 12
    sign_off(tmp_path, "v3", "needs work", by="Bo", **SEEN)
    assert read_sign_offs(tmp_path)["v3"].in_words("digest").startswith("needs work by Bo on ")
    assert len(json.loads((tmp_path / "sign_offs.json").read_text())) == 13  # the first one stays


@pytest.mark.parametrize(
    ("decision", "by", "note"),
    [("fine", "Ann", ""), ("accepted", " ", ""), ("accepted", "Ann", "a" * 1001)],
)
def test_what_is_no_decision_is_refused_and_leaves_no_file(tmp_path, decision, by, note):
    with pytest.raises(InputError):
        sign_off(tmp_path, "int8", decision, by=by, note=note, predictions="")
    assert not (tmp_path / "sign_offs.json").exists()


@pytest.mark.parametrize("damage", ["", "[1]", '[{"variant": "int8"}]', '{"a": {}}'])
def test_a_damaged_file_is_named(tmp_path, damage):
    (tmp_path / "sign_offs.json").write_text(damage)
    with pytest.raises(InputError, match=r"damaged file.*sign_offs\.json"):
        read_sign_offs(tmp_path)


def test_every_outlet_shows_the_decision_until_the_predictions_change(tmp_path):
    store = make_study(tmp_path)
    study_audit = StudyAudit.read(store, permutations=0)
    study_audit.sign_off("int8", "rejected", by="Ann", note="loses <b>cats</b>")
    words = study_audit.sign_offs["int8"]
    assert words.endswith(": loses <b>cats</b>")
    assert "changed" not in words
    assert "loses &lt;b>cats" in study_markdown(study_audit, DEFAULT_LIMITS)
    with pytest.raises(InputError, match="variant"):
        study_audit.sign_off("dense", "accepted", by="Ann")
    fewer = make_study(tmp_path / "fewer", missing={("int8", 3)})
    (fewer.directory / "sign_offs.json").write_bytes((tmp_path / "sign_offs.json").read_bytes())
    assert "changed since" in StudyAudit.read(fewer, permutations=0).sign_offs["int8"]
