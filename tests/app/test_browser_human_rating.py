"""Two raters in two browsers, by keyboard; a reload, a server that is killed, and the analysis of what they pressed."""

import io
import re
import statistics
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.builders.pages import settled
from tests.builders.studies import make_study
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.app.rating_form import ASKED
from tfaudit.audits.survey.survey import survey
from tfaudit.store.ratings.answers import open_answers
from tfaudit.store.store import open_store

pytestmark = pytest.mark.slow

ANSWERS = {"y": 1, "n": 0, "u": None}
IMAGES = 2


@pytest.fixture
def server(serve, tmp_path):
    server = serve(make_study(tmp_path).directory)
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
        settled(self.page)

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
    assert (
        statistics.median(yunny.seconds + nuy.seconds) < 0.6
    )  # 0.2 on a quiet machine; workers share this one

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
    sheet, variant = (
        answers.sheet(1),
        answers.studies("test", study_audit.data.fingerprints.examples)["variant"].item(),
    )
    pies = study_audit.exemplars(variant).index
    rows = {}
    for each in raters:
        for image, question, value in each.pressed:
            row = rows.setdefault(
                (each.name, image), {"rater": each.name, "example": sheet["example"][image - 1]}
            )
            row["is_pie"] = sheet["position"][image - 1] in pies
            row[ASKED[question - 1].key] = np.nan if value is None else value
    return found, survey(pd.DataFrame(rows.values())).frame()[list(found)]


def test_keys_answer_what_is_read_and_nothing_else(server, visit):
    page = visit(f"{server.url}/label")
    page.get_by_role("spinbutton", name="Images").fill(str(IMAGES))
    page.get_by_role("button", name="Begin", exact=True).click()
    rater = Rater(page, "Ann")
    rater.start()
    answers = open_answers(server.directory)
    page.get_by_text("Begin another study").click()
    page.get_by_role("spinbutton", name="Seed").click()
    page.keyboard.type("yynu")
    settled(page)
    assert rater.place() == (1, 1)
    assert answers.progress(1).empty
    page.get_by_role("heading", name="Human rating").click()
    settled(page)
    typed = "ynuyny"
    page.keyboard.type(typed + "nnn")  # faster than anybody reads; the last three are for no image
    settled(page)
    assert rater.place() == (2, 1)
    page.keyboard.type("ny")
    settled(page)
    assert rater.place() == (2, 3)
    page.keyboard.down("n")
    for _ in range(5):
        page.keyboard.down("n")  # held: repeats
    page.keyboard.up("n")
    settled(page)
    assert rater.place() == (2, 4)
    page.keyboard.press("ArrowLeft")
    settled(page)
    assert rater.place() == (2, 3)
    page.keyboard.type("yu")
    settled(page)
    assert rater.place() == (2, 5)
    first, second = answers.sheet(1)["example"][:2]
    keys = [question.key for question in ASKED]
    assert answers.of_image(1, "Ann", first).answers == dict(
        zip(keys, map(ANSWERS.get, typed), strict=True)
    )
    assert answers.of_image(1, "Ann", second).answers == dict(
        zip(keys, map(ANSWERS.get, "nyyu"), strict=False)
    )


def test_no_key_is_lost_or_given_to_another_image(server, visit, rng):
    """Bursts of keys at random moments, also while an image is replaced, against what the page should have taken."""
    page = visit(f"{server.url}/label")
    page.get_by_role("spinbutton", name="Images").fill(str(IMAGES))
    page.get_by_role("button", name="Begin", exact=True).click()
    rater = Rater(page, "Ann")
    rater.start()
    answers, keys = open_answers(server.directory), [question.key for question in ASKED]
    expected = []
    for number, example in enumerate(answers.sheet(1)["example"], 1):
        page.get_by_text(f"Image {number} of {IMAGES}").wait_for()
        typed = rng.choice(list(ANSWERS), len(ASKED))
        for key in typed[:-1]:
            page.keyboard.press(str(key))
            page.wait_for_timeout(int(rng.choice([0, 0, 30, 300])))
        # Too many at once: the image is still the one that was answered.
        page.keyboard.type(typed[-1] + "y" * int(rng.integers(0, 3)))
        settled(page)
        expected.append(
            (example, dict(zip(keys, (ANSWERS[str(key)] for key in typed), strict=True)))
        )
    for example, given in expected:
        assert answers.of_image(1, "Ann", example).answers == given
