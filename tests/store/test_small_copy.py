"""A small copy of a study, without models: the same audits, and pictures of what changes."""

import io

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from benchmarks.small_copy import save_small_copy, small_image
from tests.builders.corrupted_studies import corrupted_study
from tests.builders.refusals import assert_refused
from tests.builders.studies import make_study
from tfaudit.analysis.stored_images import picture_format, pixels_of
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.store.store import TABLES, open_store


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


def test_what_is_unfinished_is_left_out(study, tmp_path):
    last = study.study.variants[-1].key
    (study.directory / study.member_path(last, 0, "member.json")).unlink()
    copy = save_small_copy(study, tmp_path / "copy")
    assert last not in copy.variants
    assert copy.variants[0] == "dense"


def test_corruptions_come_along_where_all_members_were_tested(tmp_path):
    store = corrupted_study(tmp_path / "study", without=[("magnitude-0.9", "gaussian_noise 3")])
    copy = save_small_copy(store, tmp_path / "copy")
    assert copy.study.corruptions == ("fog",)
    assert {condition.split for condition in copy.conditions} == {"fog-1", "fog-3"}
    ours, theirs = (one.predictions("magnitude-0.9", "fog-3") for one in (copy, store))
    assert_array_equal(ours.ranked, theirs.ranked[..., :2])


def test_a_smaller_population(study, tmp_path):
    copy = save_small_copy(study, tmp_path / "copy", population=2)
    assert {copy.members(key) for key in copy.variants} == {(0, 1)}
    assert not copy.missing()
    for population in (0, 99):
        assert_refused(
            f"population: got {population}, expected 1 to ",
            save_small_copy,
            study,
            tmp_path / f"copy{population}",
            population=population,
        )


def test_a_folder_with_files_is_refused(study, tmp_path):
    assert_refused(
        r"directory: got .*, expected an empty or missing folder",
        save_small_copy,
        study,
        tmp_path,
    )


def test_predictions_have_two_classes_and_rounded_probabilities(study, tmp_path):
    copy = save_small_copy(study, tmp_path / "copy")
    for key in study.variants:
        ours, theirs = (store.predictions(key) for store in (copy, study))
        assert_array_equal(ours.ranked, theirs.ranked[..., :2])
        rounded = ours.member_probabilities(0)
        assert_allclose(rounded, theirs.member_probabilities(0)[:, :2], atol=1 / 512)
        assert not (rounded * 256 % 1).any()
    assert copy.study.top_k == 2


def test_only_examples_whose_prediction_changes_have_pictures(study, tmp_path):
    copy = save_small_copy(study, tmp_path / "copy", variants=["magnitude-0.9"])
    assert copy.variants == ("dense", "magnitude-0.9")
    before, after = (study.predictions(key).ranked[..., 0] for key in copy.variants)
    changed = (before != after).any(axis=0)
    assert 0 < changed.sum() < len(changed)
    examples = copy.examples()
    assert_array_equal(examples["image"].map(bool), changed)
    assert f"the {changed.sum()} examples whose prediction changes" in " ".join(copy.remarks())


def test_images_are_small_and_look_the_same():
    rng = np.random.default_rng(0)
    ramp = np.linspace(20, 200, 32)[:, None, None] + np.array([0, 20, 40])
    pixels = (ramp + rng.normal(0, 6, (32, 32, 3))).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    small = small_image(buffer.getvalue())
    assert picture_format(small) == "webp"
    assert len(small) < len(buffer.getvalue()) / 2
    assert np.abs(pixels_of(small).astype(int) - pixels).mean() < 8
    assert small_image(b"what a day") == b"what a day"


@pytest.mark.parametrize("name", [*TABLES])
def test_every_table_comes_along(tmp_path, name):
    store = make_study(tmp_path / "study", members=2)
    table = pd.DataFrame({"title": ["a"], "bytes": [3.0]})
    store.save_table(name, table)
    copy = save_small_copy(store, tmp_path / "copy")
    pd.testing.assert_frame_equal(copy.table(name), table)
