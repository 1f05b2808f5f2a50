"""The report and the cards of studies whose examples are texts, and whose model is a file or a function."""

import dataclasses

import pytest
from streamlit.testing.v1 import AppTest

from tests.builders.studies import NAMES, make_study
from tfaudit.analysis.stored_images import Preview, preview_of
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app import rating_form
from tfaudit.app.exemplar_cards import preview_html
from tfaudit.report.html import write_report


@pytest.fixture(scope="module")
def of_texts(tmp_path_factory):
    store = make_study(tmp_path_factory.mktemp("texts"), members=2)
    examples = store.examples()
    texts = [f"a <b>line</b>\nof text {i}".encode() for i in range(len(examples))]
    store.save_examples("test", examples["label"].to_numpy(), examples["example"].tolist(), NAMES, texts)
    return store


def report_of(store, **changes):
    store.study = dataclasses.replace(store.study, **changes)
    return write_report(StudyAudit.read(store)).read_text()


@pytest.mark.slow
def test_texts_stand_in_the_gallery_and_are_no_markup(of_texts):
    page = report_of(of_texts)
    gallery = page[page.index('<ul class="gallery">') :]
    assert '<p class="text">a &lt;b&gt;line&lt;/b&gt;\nof text' in gallery
    assert "<img" not in gallery[: gallery.index("</ul>")]
    assert f"{len(of_texts.examples()):,} examples of 5 classes" in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": "/some/net.keras", "initialise": "file"}, "trained independently from the same weights of the file"),
        ({"model": "nets.py:build", "initialise": "same"}, "trained independently from the same initial weights"),
        ({"model": "/some/net.keras", "initialise": "fresh"}, "initial weights of each member"),
        ({"training": "/some/code.py:fit", "model": "/some/code.py:build"}, "<td>/some/code.py:fit</td>"),
    ],
)
def test_the_report_says_from_what_members_were_trained(of_texts, changes, said):
    page = report_of(of_texts, **{"initialise": None} | changes)
    assert said in page
    assert "net.keras on digits, test" in page or "code.py:build on digits, test" in page


def test_raters_see_the_text(monkeypatch):
    def page():
        from tfaudit.app.rating_form import _picture

        _picture(None, 0)

    monkeypatch.setattr(rating_form, "_image", lambda audit, position: b"so <b>kind</b>")
    (shown,) = AppTest.from_function(page).run().get("html")
    assert "white-space:pre-line" in shown.proto.body
    assert ">so &lt;b&gt;kind&lt;/b&gt;</p>" in shown.proto.body


def test_cards_show_an_image_a_text_or_a_box():
    assert str(preview_html(preview_of(b"<i>so</i>"), "cat", "7")) == '<p class="tfa-text">&lt;i&gt;so&lt;/i&gt;</p>'
    assert "no image stored<br>7" in preview_html(Preview(), "cat", "7")
    assert preview_html(Preview("data:x", tiny=True), "cat", "7").startswith(
        '<img class="tfa-picture tiny" src="data:x"'
    )
