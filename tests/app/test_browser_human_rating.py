"""Two raters in two browsers, by keyboard; a reload, a server that is killed, and the analysis of what they pressed."""

import io
import re
import shutil
import statistics
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.builders.pages import settled
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audit.survey.questions import QUESTIONS
from tfaudit.audit.survey.survey import survey
from tfaudit.ratings.answers import open_answers
from tfaudit.store.store import open_store

pytestmark = pytest.mark.slow

ANSWERS = {"y": 1, "n": 0, "u": None}
IMAGES = 4


@pytest.fixture
def server(serve, digits, tmp_path):
    directory = tmp_path / "digits"
    shutil.copytree(digits, directory)
    server = serve(directory)
    yield server
    server.stop()


class Rater:
    """A person with a browser, who notes what was pressed."""

    def __init__(self, page, name):
        self.page, self.name, self.pressed, self.seconds = page, name, [], []

    def start(self):
        field = self.page.get_by_role("textbox", name="Your name")
        field.click()
        self.page.keyboard.type(self.name)  # has the letters of all shortcuts
        self.page.keyboard.press("Enter")
        self.page.get_by_text("Question 1 of 6").wait_for()

    def place(self):
        """Number of the image and of the question that the page shows."""
        image = self.page.get_by_text(re.compile(r"^Image \d+ of")).inner_text()
        question = self.page.get_by_text(re.compile(r"^Question \d of")).inner_text()
        return int(image.split()[1]), int(question.split()[1])

    def press(self, key):
        image, question = self.place()
        begun = time.perf_counter()
        self.page.keyboard.press(key)
        next_image, next_question = image + question // 6, question % 6 + 1
        shown = f"Question {next_question} of 6" if next_image <= IMAGES else "Thank you!"
        self.page.get_by_text(shown).wait_for()
        self.seconds.append(time.perf_counter() - begun)
        self.pressed.append((image, question, ANSWERS[key]))

    def press_any(self, count, rng):
        for key in rng.choice(list(ANSWERS), count, p=[0.45, 0.45, 0.1]):
            self.press(str(key))


def test_two_raters_a_reload_and_a_restart(server, visit, browser, rng):
    page = visit(f"{server.url}/label")
    page.get_by_role("spinbutton", name="Images").fill(str(IMAGES))
    page.get_by_role("button", name="Begin", exact=True).click()
    page.get_by_role("textbox", name="Your name").wait_for()
    page.close()  # nothing was logged; from here on a server goes away, which browsers log

    raters = []
    for name in ("Yunny", "Nuy"):
        page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        page.goto(f"{server.url}/label")
        raters.append(Rater(page, name))
        raters[-1].start()
    yunny, nuy = raters
    for _ in range(4):  # in turn
        yunny.press_any(2, rng)
        nuy.press_any(1, rng)
    assert (yunny.place(), nuy.place()) == ((2, 3), (1, 5))

    yunny.page.reload()
    settled(yunny.page)
    assert yunny.place() == (2, 3)

    server.stop()
    server.start()
    for rater in raters:
        rater.page.reload()
        settled(rater.page)
    assert (yunny.place(), nuy.place()) == ((2, 3), (1, 5))
    for rater in raters:
        rater.press_any(6 * IMAGES - len(rater.pressed), rng)
    assert statistics.median(yunny.seconds + nuy.seconds) < 0.6  # 0.2 on a quiet machine; workers share this one

    pd.testing.assert_frame_equal(*analysed(yunny, raters, server.directory), check_dtype=False)
    for rater in raters:
        rater.page.context.close()


def analysed(rater, raters, directory):
    """The analysis that the page gives as CSV, and the one of what was pressed."""
    rater.page.get_by_text("Progress and analysis").click()
    rater.page.get_by_role("button", name="Unblind and analyse").click()
    rater.page.get_by_role("heading", name="Answers").wait_for()
    settled(rater.page)
    with rater.page.expect_download() as download:
        rater.page.get_by_role("button", name="CSV", exact=True).nth(1).click()
    found = pd.read_csv(io.BytesIO(Path(download.value.path()).read_bytes()))
    answers, study_audit = open_answers(directory), StudyAudit.read(open_store(directory))
    sheet, variant = answers.sheet(1), answers.studies("test", study_audit.data.fingerprints.examples)["variant"].item()
    pies = study_audit.exemplars(variant).index
    rows = {}
    for each in raters:
        for image, question, value in each.pressed:
            row = rows.setdefault((each.name, image), {"rater": each.name, "example": sheet["example"][image - 1]})
            row["is_pie"] = sheet["position"][image - 1] in pies
            row[QUESTIONS[question - 1].key] = np.nan if value is None else value
    return found, survey(pd.DataFrame(rows.values())).frame()[list(found)]


def test_keys_answer_what_is_read_and_nothing_else(server, visit):
    page = visit(f"{server.url}/label")
    page.get_by_role("spinbutton", name="Images").fill(str(IMAGES))
    page.get_by_role("button", name="Begin", exact=True).click()
    rater = Rater(page, "Ann")
    rater.start()
    answers, image = open_answers(server.directory), 0
    page.get_by_text("Begin another study").click()
    page.get_by_role("spinbutton", name="Seed").click()
    page.keyboard.type("yynu")
    settled(page)
    assert rater.place() == (1, 1)
    assert answers.progress(1).empty
    page.get_by_role("heading", name="Human rating").click()
    page.keyboard.type("yyyyyyyyyyyy")  # faster than anybody reads
    settled(page)
    image, question = rater.place()
    (given,) = (
        answers.answers(1)[[each.key for each in QUESTIONS]].notna().sum(axis=1).groupby(level=0).sum().to_frame().sum()
    )
    assert given == 6 * (image - 1) + question - 1
    page.keyboard.press("ArrowLeft")
    before = (image, question - 1) if question > 1 else (image - 1, 6)
    for _ in range(50):  # a busy machine takes its time to begin
        if rater.place() != before:
            page.wait_for_timeout(100)
    assert rater.place() == before
