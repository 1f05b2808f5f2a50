"""The recommendation of a study: facts, file and command; `tests/app/test_agreement.py` compares its outlets."""

import pytest

from tests.builders.studies import make_study
from tfaudit.analysis.recommendation import recommendation
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.limits import Limits

PASSING = Limits(overall_drop_pp=90, worst_class_drop_pp=99)
STRICT = Limits(overall_drop_pp=1, worst_class_drop_pp=1)


@pytest.fixture(scope="module")
def study_audit(tmp_path_factory):
    return StudyAudit.read(make_study(tmp_path_factory.mktemp("study")))


@pytest.mark.parametrize("limits", [PASSING, STRICT])
def test_its_facts_are_the_reasons_of_the_verdict_and_the_limit_that_binds(study_audit, limits):
    verdict = study_audit.verdict(limits)
    advice = recommendation(study_audit, verdict)
    assert advice.ship == (limits is PASSING)
    judged = dict(advice.facts)
    reasons = {check.reason for check in verdict.verdicts[advice.variant].checks}
    assert reasons <= set(judged.values())
    assert any("the limit that binds" in name for name in judged) == (not advice.ship)


@pytest.mark.parametrize(
    ("command", "drop", "size"),
    [("gate", 90, 1234567), ("plan", 0.25, 1234567), ("compress", 90, 3001)],
)
def test_the_next_command_has_the_limits_and_the_level(tmp_path, command, drop, size):
    store = make_study(tmp_path)
    (store.directory / store.member_path("dense", 0, "model.keras")).write_bytes(b"model")
    study_audit = StudyAudit.read(store, alpha=0.1)
    limits = Limits(worst_class_drop_pp=drop, size_bytes=size, min_baseline_accuracy=0.125)
    given = recommendation(study_audit, study_audit.verdict(limits)).command
    assert given.startswith(f"tfaudit {command} ")
    drops = f"--max-worst-class-drop {drop} --max-size-bytes {size}"
    assert given.endswith(f" {drops} --min-baseline-accuracy 0.125 --alpha 0.1")


def test_the_member_is_the_one_nearest_to_the_mean_and_its_file_is_named(study_audit):
    verdict = study_audit.verdict(PASSING)
    store = study_audit.data.store
    accuracy = study_audit.variant(verdict.best).top1
    nearest = abs(accuracy - accuracy.mean()).argmin()
    file = store.directory / store.member_path(verdict.best, int(nearest), "model.tflite")
    assert recommendation(study_audit, verdict).path is None
    file.write_bytes(b"flatbuffer")
    advice = recommendation(study_audit, verdict)
    assert advice.path == file
    assert dict(advice.facts)["file"] == str(file)
    assert dict(advice.facts)["member"].startswith(f"{nearest}, one of {len(accuracy)}: ")
    file.unlink()


def test_a_damaged_member_is_named_instead_of_its_file(tmp_path):
    store = make_study(tmp_path)
    study_audit = StudyAudit.read(store)
    verdict = study_audit.verdict(PASSING)
    before = recommendation(study_audit, verdict)
    member = int(dict(before.facts)["member"].split(",")[0])
    path, *_ = store.record(before.variant, member)["files"]
    (store.directory / path).write_bytes(b"")
    advice = recommendation(study_audit, verdict)
    expected = (
        f"missing or damaged; `tfaudit run` makes it again ({path} does not match its checksum)"
    )
    assert dict(advice.facts)["file"] == expected
    assert advice.path is None
