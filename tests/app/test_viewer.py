"""The frame of the viewer, run by Streamlit's own harness: what it opens, and what it says when it cannot."""

import dataclasses
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.builders.corrupted_studies import corrupted_study
from tests.builders.nightly import first_and_nightly
from tests.builders.pages import unescaped, words
from tests.builders.populations import population
from tests.builders.studies import TWO, change_images, make_study
from tfaudit.analysis.audits import AUDITS
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app import menu
from tfaudit.app.markdown import escape, escape_name, unique_labels
from tfaudit.app.menu import PAGES
from tfaudit.audits.declaration import Declaration
from tfaudit.audits.flips.negative_flips import flip_rates
from tfaudit.audits.gate.limits import FLAGS, Limits
from tfaudit.store.store import open_store

NAMES = list(PAGES)
SOME = first_and_nightly(NAMES, 3)
"""Pages that are opened always; the others at night."""


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    store = make_study(tmp_path_factory.mktemp("texts"))
    change_images(store, lambda images: [f"Tweet {i}".encode() for i in range(len(images))])
    return store.directory


@pytest.fixture
def copied(store, tmp_path):
    """`copied(name)` returns a copy of the study at a path below `tmp_path`."""
    leave = shutil.ignore_patterns("audit")
    return lambda name="copy": Path(shutil.copytree(store.directory, tmp_path / name, ignore=leave))


IN_PROGRESS = {("magnitude-0.9", member) for member in range(4)} | {("int8", 2), ("dense", 3)}
BASELINE_ALONE = {(variant.key, member) for variant in TWO for member in range(4)}
SERIES = pd.DataFrame({"series": np.where(np.arange(len(population(0).labels)) % 2, "a", "b")})
STUDIES = {
    "hostile names and no conditions": {},
    "single members": {"members": 1},
    "in progress": {"missing": IN_PROGRESS},
    "baseline alone": {"missing": BASELINE_ALONE, "groups": SERIES},
}


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("name", SOME)
def test_every_page_of_other_studies(open_page, made_once, study, name):
    directory = made_once(f"pages of {study}", lambda place: make_study(place, **STUDIES[study]))
    app = open_page(directory, name)
    assert not [error.value for error in app.error]
    if study == "baseline alone" and name in ("classes", "exemplars"):
        assert "no compressed variant" in words(app)


@pytest.mark.slow
def test_every_page_of_a_real_study_and_none_needs_tensorflow(digits):
    code = f"""
import sys
sys.modules |= dict.fromkeys(("tensorflow", "keras", "tensorflow_datasets"))  # whoever imports them fails
import gc
from streamlit.testing.v1 import AppTest
from tests.builders.pages import draw
from tfaudit.app import viewer
gc.freeze()  # Streamlit collects garbage after every page
for name in {NAMES}:
    app = AppTest.from_function(draw, args=({str(digits)!r}, name), default_timeout=60).run()
    assert app.title[0].value and not app.error and not app.exception, (name, app.error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr


def only_error(app):
    (error,) = app.error
    assert "\n" not in error.value
    assert "Traceback" not in error.value
    return unescaped(error.value)


PREDICTIONS = "predictions/split=test/variant=int8"
DAMAGES = {
    "study.json": "damaged",
    "examples/test.parquet": "damaged",
    f"{PREDICTIONS}/000.parquet": "does not match its checksum",
}


@pytest.mark.parametrize("damaged", DAMAGES)
def test_a_damaged_file_is_one_line(open_page, copied, damaged):
    directory = copied()
    assert (directory / damaged).exists()
    (directory / damaged).write_bytes(b"\x00damaged")
    assert DAMAGES[damaged] in only_error(open_page(directory, "overview"))


def link(place, target):
    """Move a file or folder, and let a link lead to it."""
    target.parent.mkdir(exist_ok=True)
    place.rename(target)
    place.symlink_to(target)


@pytest.mark.parametrize("inside", ["examples/test.parquet", PREDICTIONS])
def test_nothing_is_served_from_elsewhere(open_page, copied, tmp_path, inside):
    directory = copied()
    link(directory / inside, tmp_path / "elsewhere")
    assert "is a link out of" in only_error(open_page(directory, "overview"))


def test_no_chain_of_links_leads_out(open_page, copied, tmp_path):
    """Out of the folder, by way of a study that is not shown."""
    first, second = copied("folder/first"), copied("folder/second")
    link(first / "examples", tmp_path / "elsewhere/examples")
    link(first / "examples", second / "stash")
    assert "is a link out of" in only_error(open_page(tmp_path / "folder", "overview"))


@pytest.mark.slow
@pytest.mark.parametrize("study", ["../secret", "/etc", "..", "second/../../secret"])
def test_a_folder_of_studies_and_no_way_out_of_it(open_page, copied, tmp_path, study):
    for name in ("folder/first", "folder/second", "secret"):
        copied(name)
    app = open_page(tmp_path / "folder", "overview", study=study)
    assert not app.error
    box = app.selectbox(key="study")
    assert (box.options, box.value) == (["first", "second"], "first")
    other = open_page(tmp_path / "folder", "overview", study="second")
    assert other.selectbox(key="study").value == "second"


@pytest.mark.slow
def test_a_study_that_grows_is_read_again_when_asked(open_page, tmp_path):
    store = make_study(tmp_path, missing={("int8", 3)})
    app = open_page(tmp_path, "overview")
    whole = make_study(tmp_path / "whole")
    path = store.prediction_path("int8", 3)
    store.save_member("int8", 3, {path: whole.read(path)}, {"bytes": 1, "gzipped_bytes": 1})
    shutil.rmtree(tmp_path / "whole")
    app.run()
    assert app.info[0].value == "The study has changed since it was read."
    assert list(app.dataframe[0].value["members"]) == [4, 4, 3]
    app.button[0].click().run()
    assert list(app.dataframe[0].value["members"]) == [4, 4, 4]
    assert not app.info


def test_an_audit_without_a_page_of_its_own_gets_one(open_page, store, monkeypatch):
    shown = Declaration(name="mine", title="Mine", question="What changed?", source="[X]")
    audit = dataclasses.replace(AUDITS["negative_flips"], name="mine", shown=shown)
    audits = {**AUDITS, "mine": audit}
    modules = ("app.menu", "app.audit_page", "analysis.joint_audits", "analysis.study_audit")
    for module in modules:
        monkeypatch.setattr(f"tfaudit.{module}.AUDITS", audits)
    monkeypatch.setattr("tfaudit.app.viewer.PAGES", menu._pages())
    app = open_page(store.directory, "mine", variant="fixed-point int8")
    assert [title.value for title in app.title] == ["Mine"]
    (asked,) = (text for text in app.markdown if text.value == "**What changed?**")
    assert asked.proto.help == "(\\[X\\])"
    expected = flip_rates(*(store.predictions(key) for key in ("dense", "int8"))).frame()
    shown, expected = (table.dropna(axis=1) for table in (app.dataframe[0].value, expected))
    assert len(shown.columns) > 5
    pd.testing.assert_frame_equal(shown, expected, check_dtype=False)
    assert len(app.get("vega_lite_chart")) == 1
    assert not app.error


def test_the_menu_has_the_pages_that_a_study_allows(store, tmp_path):
    def shown(directory):
        data = StudyAudit.read(open_store(directory)).data
        return {path for path, page in PAGES.items() if page.applies(data)}

    several, single = (
        shown(store.directory),
        shown(make_study(tmp_path / "single", members=1).directory),
    )
    assert {"overview", "classes", "exemplars", "distortion", "compare"} <= several
    assert {"classes", "exemplars"} <= several - single
    assert single <= several
    assert "corruptions" in several  # it says what to run
    assert "groups" not in several
    assert {"corruptions"} <= shown(corrupted_study(tmp_path / "corrupted").directory)
    missing = {(variant.key, member) for variant in TWO for member in range(4)}
    assert shown(make_study(tmp_path / "alone", missing=missing).directory) == set(PAGES)


@pytest.mark.parametrize("name", SOME)
def test_a_study_of_texts_speaks_of_examples(open_page, texts, name):
    app = open_page(texts, name)
    boxes = [*app.selectbox, *app.multiselect]
    said = [
        text.value for text in (*app.title, *app.caption, *app.markdown, *app.info, *app.header)
    ]
    said += [part or "" for box in boxes for part in (box.label, box.help)]
    said += [
        column.get("label") or ""
        for grid in app.dataframe
        for column in json.loads(grid.proto.columns).values()
    ]
    assert not [text for text in said if re.search(r"\bimages?\b", text, re.IGNORECASE)]


def test_names_are_shown_as_they_are():
    assert escape_name(
        "*a* `b` $x$ [l](u) :cat: <i>"
    ) == r"\*a\* \`b\` \$x\$ \[l\](u) \:⁠cat\:⁠ \<i\>".replace("\N{WORD JOINER}", "\N{WORD JOINER}")
    assert len(escape_name("x" * 300)) == 80
    assert escape("x" * 300) == "x" * 300
    assert escape("1. first") == r"1\. first"
    assert unique_labels(["a", "", "a", "x" * 90, "x" * 100])[:3] == ["a (0)", "(no name)", "a (2)"]
    assert len(set(unique_labels(["x" * 90, "x" * 100]))) == 2


def test_pages_open_on_the_recommended_variant_or_on_the_worst_and_keep_a_choice(open_page, digits):
    study_audit = StudyAudit.read(open_store(digits))
    titles = study_audit.data.titles
    loose = Limits(worst_class_drop_pp=99.0)
    verdicts = {"": study_audit.verdict(), "loose": study_audit.verdict(loose)}
    assert verdicts[""].lead != verdicts["loose"].lead
    assert verdicts[""].lead != verdicts[""].worst
    loosened = {FLAGS[name]: f"{value:g}" for name, value in loose.as_dict().items()}
    links = {"": {}, "loose": {**dict.fromkeys(FLAGS.values(), ""), **loosened}}
    for asked, verdict in verdicts.items():
        link = links[asked]
        opens_on = {"classes": verdict.worst, "exemplars": verdict.worst, "groups": verdict.worst}
        opens_on |= {"calibration": verdict.lead, "negative_flips": verdict.lead}
        for name, key in opens_on.items():
            app = open_page(digits, name, **link)
            assert app.segmented_control(key="variant").value == titles[key]
            assert "variant" not in app.query_params
    other = next(titles[key] for key in study_audit.data.compressed_keys if key != verdict.lead)
    app.segmented_control(key="variant").set_value(other).run()
    app.segmented_control(key="variant").set_value(titles[verdict.lead]).run()
    assert app.query_params["variant"] == titles[verdict.lead]  # other pages open on others


def test_every_page_that_a_link_may_open_says_what_is_missing(open_page, tmp_path):
    store = make_study(tmp_path, missing={("int8", 3)})
    (said,) = StudyAudit.read(store).missing_results()
    assert "3 of 4 members are complete" in said
    for name in ("classes", "corruptions"):
        assert [warning.value for warning in open_page(store.directory, name).warning] == [
            escape(said)
        ]
    assert not any(
        said in warning.value for warning in open_page(store.directory, "overview").warning
    )
