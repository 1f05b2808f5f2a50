"""A small copy of a study, without models: the same audits, and pictures of what changes."""

import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from benchmarks.small_copy import save_small_copy
from tests.builders.corrupted_studies import corrupted_study
from tests.builders.studies import make_study
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.store.store import open_store


@pytest.fixture
def study(tmp_path):
    return make_study(tmp_path / "study")


def test_audits_of_the_copy_are_those_of_the_study(study, tmp_path):
    save_small_copy(study, tmp_path / "copy")
    copy = open_store(tmp_path / "copy")
    assert not copy.missing()
    assert not list(copy.directory.rglob("model.*"))
    assert [v.key for v in copy.study.all_variants] == list(study.variants)
    mine, theirs = (
        StudyAudit.read(store, permutations=20).summary.frame() for store in (copy, study)
    )
    assert mine["top5"].isna().all()  # two classes are stored
    pd.testing.assert_frame_equal(mine.drop(columns="top5"), theirs.drop(columns="top5"))
    for key in study.variants:
        for member in study.members(key):
            assert copy.damage(key, member) == ""
            records = [store.record(key, member) for store in (copy, study)]
            others = {"files", "examples", "study"}  # remarks and `top_k` differ
            mine, theirs = ({k: v for k, v in r.items() if k not in others} for r in records)
            assert mine == theirs


def test_corruptions_come_along_where_all_members_were_tested(tmp_path):
    store = corrupted_study(tmp_path / "study", without=[("magnitude-0.9", "gaussian_noise 3")])
    copy = save_small_copy(store, tmp_path / "copy")
    assert copy.study.corruptions == ("fog",)
    assert {condition.split for condition in copy.conditions} == {"fog-1", "fog-3"}
    ours, theirs = (one.predictions("magnitude-0.9", "fog-3") for one in (copy, store))
    assert_array_equal(ours.ranked, theirs.ranked[..., :2])


def test_only_examples_whose_prediction_changes_have_pictures(study, tmp_path):
    copy = save_small_copy(study, tmp_path / "copy", variants=["magnitude-0.9"])
    assert copy.variants == ("dense", "magnitude-0.9")
    before, after = (study.predictions(key).ranked[..., 0] for key in copy.variants)
    changed = (before != after).any(axis=0)
    assert 0 < changed.sum() < len(changed)
    examples = copy.examples()
    assert_array_equal(examples["image"].map(bool), changed)
    assert f"the {changed.sum()} examples whose prediction changes" in " ".join(copy.remarks())
