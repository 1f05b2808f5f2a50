"""A study that an older version of tfaudit ran: it still opens, gives the same figures, and can be continued."""

import dataclasses
import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from tfaudit import Study, open_store, run
from tfaudit.analysis.study_audit import StudyAudit

OLD_STUDY = Path(__file__).with_name("old_study")
WELCH, ENDS = ("p", "low_pp", "high_pp"), re.compile("_low|_high|p_holm|p_bh|excess_p$")
VARIANTS, SPLITS = ("dense", "magnitude-0.9", "int8"), ("test", "contrast-3")


@pytest.fixture
def store(tmp_path):
    copy = shutil.copytree(OLD_STUDY, tmp_path / "study")
    for name in ("README.md", "figures.json"):
        (copy / name).unlink()
    return open_store(copy)


def files(store):
    paths = [
        path
        for folder in ("members", "predictions")
        for path in (store.directory / folder).rglob("*.*")
    ]
    return {
        path.relative_to(store.directory): path.read_bytes() for path in paths if path.is_file()
    }


def test_every_file_is_read_and_complete(store):
    assert store.study == Study.from_json(store.study.to_json())
    assert (
        json.loads(json.dumps(store.study.to_json()))
        == json.loads((OLD_STUDY / "study.json").read_text())["study"]
    )
    assert store.variants == VARIANTS
    assert store.conditions == store.study.conditions == (("contrast", 3),)
    assert all(store.is_complete(variant, member) for variant in VARIANTS for member in range(2))
    assert [
        store.predictions(key, split).members
        for key in VARIANTS
        for split in ("test", "contrast-3")
    ] == [(0, 1)] * 6
    assert all(image.startswith(b"\x89PNG") for image in store.examples()["image"])
    assert store.table("classes")["train_examples"].sum() == 200


def test_an_audit_gives_the_figures_of_the_version_that_ran_it(store):
    audit = StudyAudit.read(store)
    frames = {"summary": audit.summary.frame()}
    frames |= {
        f"robustness of {key}": audit.robustness(key).frame() for key in audit.data.compressed_keys
    }
    expected = json.loads((OLD_STUDY / "figures.json").read_text())
    # That version took the images as fixed: its intervals and tests are now the published ones, of pairs none.
    for key in audit.data.compressed_keys:
        figures = expected[f"robustness of {key}"]
        figures["change_pp"] = figures.pop("difference_pp")
        tests = {
            name: figures.pop(name)
            for name in [*figures]
            if name == "test" or name in WELCH or ENDS.search(name)
        }
        if not audit.data.is_paired(key):
            figures |= {f"published_{name}": tests[name] for name in WELCH}
    # It also expected alpha times the classes by chance; pairs of models that agree throughout give none.
    expected["summary"]["expected_by_chance"] = [None, 1.0, 0.0]
    # And it gave ties between models to the class of the lowest number.
    expected["summary"]["published_pies"] = expected["summary"].pop("pies")
    for name in ("pie_share", "pies_by_chance", "pies_p"):
        del expected["summary"][name]
    for name, frame in frames.items():
        # JSON and back on both sides; ends of intervals may be found by another order of the same operations.
        found = json.loads(
            json.dumps(frame.astype(object).where(frame.notna(), None).to_dict("list"))
        )
        known = pd.DataFrame(expected.pop(name))
        pd.testing.assert_frame_equal(pd.DataFrame(found)[list(known)], known, rtol=1e-9, atol=0)
    assert not expected


@pytest.mark.slow
def test_a_run_continues_it_and_leaves_its_files_as_they_are(warm_workers, store):
    before = files(store)
    grown = run(dataclasses.replace(store.study, population=3), store.directory, workers=1)
    assert grown.failures() == grown.evaluations.failures() == {}
    assert all(
        grown.predictions(key, split).members == (0, 1, 2) for key in VARIANTS for split in SPLITS
    )
    after = files(store)
    assert len(after) > len(before) == 28
    assert {path: after[path] for path in before} == before
