"""The report of studies whose examples are texts, and whose model is a file or a function."""

import dataclasses
import io
from pathlib import Path

import pytest
from rich.console import Console

from tests.builders.studies import NAMES, make_study
from tfaudit.analysis.recommendation import recommendation
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.limits import Limits
from tfaudit.outlets.gate_tables import first_screen
from tfaudit.outlets.html import write_report
from tfaudit.outlets.markdown import gate_markdown, study_markdown
from tfaudit.outlets.summary_table import terminal_table
from tfaudit.outlets.verdict_table import headline_html, verdict_html
from tfaudit.store.members import own_facts
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


@pytest.fixture
def of_rows(tmp_path):
    """A study of a table, in which nothing is known of images."""
    store = make_study(tmp_path, members=2)
    examples = store.examples()
    rows = [f"age: {i}\nhours: {40 - i % 5}".encode() for i in range(len(examples))]
    store.save_examples(
        "test", examples["label"].to_numpy(), examples["example"].tolist(), NAMES, rows
    )
    return store


def test_the_verdict_of_a_table_speaks_of_examples_on_every_outlet(of_rows):
    study_audit = StudyAudit.read(of_rows)
    limits = Limits(overall_drop_pp=4, worst_class_drop_pp=4, flips=0.9, share_beyond=0.2)
    verdict = study_audit.verdict(limits)
    console = Console(width=400, record=True, file=io.StringIO())
    console.print(first_screen(verdict, recommendation(study_audit, verdict)))
    console.print(terminal_table(study_audit.summary))
    texts = {
        "terminal": console.export_text(),
        "Markdown": study_markdown(study_audit, limits) + gate_markdown(verdict.verdicts),
        "JSON": " ".join(
            f"{check.reason} {check.sentence}"
            for judged in verdict.verdicts.values()
            for check in judged.checks
        ),
        "HTML": headline_html(verdict, None) + verdict_html(verdict, dict.fromkeys(verdict.lost)),
    }
    for outlet, text in texts.items():
        assert "image" not in text.lower(), outlet
        assert outlet == "HTML" or " examples" in text, outlet


def report_of(store, **changes):
    """The report of a study whose members were made with other settings."""
    made = {
        pair: (
            {path: store.read(path) for path in store.record(*pair)["files"]},
            store.record(*pair),
        )
        for pair in store.expected()
    }
    store.study = dataclasses.replace(store.study, **changes)
    for pair, (files, record) in made.items():
        store.save_member(*pair, files, own_facts(record))
    return write_report(StudyAudit.read(store)).read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("without_drawings")
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
