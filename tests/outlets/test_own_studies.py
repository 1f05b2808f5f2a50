"""The report of studies whose examples are texts, and whose model is a file or a function."""

import dataclasses
from pathlib import Path

import pytest

from tests.builders.studies import NAMES, make_study
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.outlets.html import write_report
from tfaudit.study.training import Training


@pytest.fixture(scope="module")
def of_texts(tmp_path_factory):
    store = make_study(tmp_path_factory.mktemp("texts"), members=2)
    examples = store.examples()
    texts = [f"a <b>line</b>\nof text {i}".encode() for i in range(len(examples))]
    store.save_examples(
        "test", examples["label"].to_numpy(), examples["example"].tolist(), NAMES, texts
    )
    return store


def report_of(store, **changes):
    store.study = dataclasses.replace(store.study, **changes)
    return write_report(StudyAudit.read(store)).read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("without_drawings")
def test_texts_stand_in_the_gallery_and_are_no_markup(of_texts):
    page = report_of(of_texts)
    gallery = page[page.index('<ul class="gallery">') :]
    assert '<p class="text">a &lt;b&gt;line&lt;/b&gt;\nof text' in gallery
    assert "<img" not in gallery[: gallery.index("</ul>")]
    assert f"{len(of_texts.examples()):,} texts of 5 classes" in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": "/net.keras", "initialise": "file"}, "from the same weights of the file"),
        ({"model": "nets.py:build", "initialise": "same"}, "from the same initial weights"),
        ({"model": "/net.keras", "initialise": "fresh"}, "initial weights of each member"),
        (
            {"training": Training(epochs=0), "model": "nets.py:build"},
            "<td>none before compression, batches of 128",
        ),
        ({"training": "/code.py:fit", "model": "/code.py:build"}, "<td>/code.py:fit</td>"),
    ],
)
@pytest.mark.usefixtures("without_drawings")
def test_the_report_says_from_what_members_were_trained(of_texts, changes, said):
    page = report_of(of_texts, **{"initialise": None} | changes)
    assert said in page
    assert f"{Path(changes['model']).name} on digits, test" in page
