"""A copy of a study without models: small, and with the same audits."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from tests.builders.corrupted_studies import corrupted_study
from tests.builders.refusals import assert_refused
from tests.builders.studies import make_study
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.store.copy_without_models import save_copy_without_models, small_image
from tfaudit.store.store import TABLES, open_store


@pytest.fixture
def study(tmp_path):
    return make_study(tmp_path / "study")


def test_audits_of_the_copy_are_those_of_the_study(study, tmp_path):
    save_copy_without_models(study, tmp_path / "copy")
    copy = open_store(tmp_path / "copy")
    assert not copy.missing()
    assert not list(copy.directory.rglob("model.*"))
    assert [v.key for v in copy.study.all_variants] == list(study.variants)
    mine, theirs = (
        StudyAudit.read(store, permutations=20).summary.frame() for store in (copy, study)
    )
    pd.testing.assert_frame_equal(mine, theirs)
    for key in study.variants:
        for member in study.members(key):
            assert copy.damage(key, member) == ""
            records = [store.record(key, member) for store in (copy, study)]
            assert (
                len(
                    {
                        json.dumps({k: v for k, v in record.items() if k != "files"})
                        for record in records
                    }
                )
                == 1
            )


def test_what_is_unfinished_is_left_out(study, tmp_path):
    last = study.study.variants[-1].key
    (study.directory / study.member_path(last, 0, "member.json")).unlink()
    copy = save_copy_without_models(study, tmp_path / "copy")
    assert last not in copy.variants
    assert copy.variants[0] == "dense"


def test_corruptions_come_along_where_all_members_were_tested(tmp_path):
    store = corrupted_study(tmp_path / "study", without=[("magnitude-0.9", "gaussian_noise 3")])
    copy = save_copy_without_models(store, tmp_path / "copy")
    assert copy.study.corruptions == ("fog",)
    assert {condition.split for condition in copy.conditions} == {"fog-1", "fog-3"}
    ours, theirs = (one.predictions("magnitude-0.9", "fog-3") for one in (copy, store))
    np.testing.assert_array_equal(ours.ranked, theirs.ranked)


def test_a_smaller_population(study, tmp_path):
    copy = save_copy_without_models(study, tmp_path / "copy", population=2)
    assert {copy.members(key) for key in copy.variants} == {(0, 1)}
    assert not copy.missing()
    for population in (0, 99):
        assert_refused(
            f"population: got {population}, expected 1 to ",
            save_copy_without_models,
            study,
            tmp_path / f"copy{population}",
            population=population,
        )


def test_a_folder_with_files_is_refused(study, tmp_path):
    assert_refused(
        r"directory: got .*, expected an empty or missing folder",
        save_copy_without_models,
        study,
        tmp_path,
    )


def test_images_have_few_colours_and_the_same_size():
    pixels = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    small = small_image(buffer.getvalue())
    assert len(small) < len(buffer.getvalue()) / 3
    image = np.asarray(Image.open(io.BytesIO(small)).convert("RGB"))
    assert image.shape == pixels.shape
    assert len(np.unique(image.reshape(-1, 3), axis=0)) <= 32
    assert np.abs(image.astype(int) - pixels).mean() < 40
    assert small_image(b"what a day") == b"what a day"


@pytest.mark.parametrize("name", [*TABLES])
def test_every_table_comes_along(tmp_path, name):
    store = make_study(tmp_path / "study", members=2)
    table = pd.DataFrame({"title": ["a"], "bytes": [3.0]})
    store.save_table(name, table)
    copy = save_copy_without_models(store, tmp_path / "copy")
    pd.testing.assert_frame_equal(copy.table(name), table)
