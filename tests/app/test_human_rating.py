"""The human study's page: begin, rate by questions, look back, resume, stay blind, analyse."""

import re

import pandas as pd
import pytest

from tests.builders.pages import bodies, unescaped, words
from tests.builders.studies import change_images, make_study, without_images
from tfaudit.analysis.study_data import StudyData
from tfaudit.app.rating_form import ASKED
from tfaudit.audits.survey.questions import CATEGORIES
from tfaudit.audits.survey.survey import survey
from tfaudit.store.ratings.answers import open_answers
from tfaudit.store.store import open_store

KEYS = [question.key for question in ASKED]


@pytest.fixture
def directory(tmp_path):
    return make_study(tmp_path).directory


def seal(directory):
    return StudyData(open_store(directory)).fingerprints.examples


def said(button):
    """What a button says, without its key."""
    return button.label.split(" :")[0]


def press(app, words):
    """A button by what it says; the page has only one such."""
    (button,) = [button for button in app.button if said(button) == words]
    assert not button.disabled
    app = button.click().run()
    assert not app.exception
    return app


def begin(open_page, directory, images=4, seed=0):
    app = open_page(directory, "label")
    app.number_input("seed of sample").set_value(seed)
    next(box for box in app.number_input if box.label == "Images").set_value(images)
    return press(app, "Begin")


def start(app, name="ann"):
    app.text_input[0].set_value(name)
    return press(app, "Start")


def answered(open_page, directory, times):
    """The page after a rater has answered this number of questions with yes."""
    app = start(begin(open_page, directory))
    for _ in range(times):
        app = press(app, "Yes")
    return app


def bar(app):
    return app.get("progress")[0].proto.text


def asked(app):
    """Number of the image and of the question that are shown."""
    image = re.match(r"Image (\d+) of", bar(app)).group(1)
    question = next(
        re.match(r"Question (\d) of 6", c.value)
        for c in app.caption
        if c.value.startswith("Question")
    )
    return int(image), int(question.group(1))


@pytest.mark.slow
def test_a_session_from_beginning_to_analysis(open_page, directory):
    assert "its answers are not blind" in words(open_page(directory, "label"))
    app = start(begin(open_page, directory))
    assert "not blind" not in words(app)
    answers = open_answers(directory)
    images = answers.sheet(1)["example"]
    given = {}
    for image, buttons in zip(
        images, (["Yes"] * 6, ["No"] * 6, ["Cannot say"] * 6, ["Yes", "No"] * 3), strict=True
    ):
        for question, word in zip(ASKED, buttons, strict=True):
            assert any(question.text[:30] in each.value for each in app.markdown)
            app = press(app, word)
            given.setdefault(image, {})[question.key] = {"Yes": 1, "No": 0, "Cannot say": None}[
                word
            ]
            assert answers.of_image(1, "ann", image).answers == given[image]  # kept at once
    assert app.success[0].value == "All 4 images are answered. Thank you!"
    assert_analysed(app, answers, images)


def assert_analysed(app, answers, images):
    """The second part of the page tells progress, then, unblinded, what the survey of the answers finds."""
    app.segmented_control("part").set_value("Progress and analysis").run()
    assert app.dataframe[0].value[["rater", "complete"]].values.tolist() == [["ann", 4]]
    assert len(app.dataframe) == 1
    app = press(app, "Unblind and analyse")
    expected = survey(answers.answers(1)).frame()
    shown = app.dataframe[1].value
    for name in ("p", "p_holm"):  # as text, never 0
        if name in shown:
            expected[name] = expected[name].map("{:.4f}".format)
    pd.testing.assert_frame_equal(
        shown.reset_index(drop=True), expected[list(shown)], check_dtype=False
    )
    assert list(app.dataframe[2].value["example"]) == list(images)
    assert "no image has two raters" in words(app)
    assert "sample stays the same" not in words(app)
    app.segmented_control("part").set_value("Rate").run()
    assert "not blind" in app.warning[0].value


@pytest.mark.slow
def test_looking_back_and_changing_an_answer(open_page, directory):
    app = answered(open_page, directory, 8)
    assert asked(app) == (2, 3)
    app = press(app, "Back")
    assert asked(app) == (2, 2)
    app = press(app, "Previous image")
    assert asked(app) == (1, 1)
    app = press(press(app, "Forward"), "No")
    assert asked(app) == (1, 3)
    app = press(app, "Where I stopped")
    assert asked(app) == (2, 3)
    app = press(app, "Yes")
    assert asked(app) == (2, 4)
    answers = open_answers(directory)
    first, second = answers.sheet(1)["example"][:2]
    assert answers.of_image(1, "ann", first).answers == dict.fromkeys(KEYS, 1) | {
        "single_object": 0
    }
    assert answers.of_image(1, "ann", second).answers == dict.fromkeys(KEYS[:3], 1)


def possible(app):
    """The ways back and forth that the page offers."""
    ways = ("Back", "Forward", "Previous image", "Where I stopped")
    return {said(button) for button in app.button if not button.disabled} & {*ways}


@pytest.mark.slow
def test_the_way_back_ends_at_the_first_question(open_page, directory):
    app = start(begin(open_page, directory))
    assert not possible(app)
    app = press(press(app, "Yes"), "Back")
    assert asked(app) == (1, 1)
    assert {said(button): button.proto.type for button in app.button}["Yes"] == "primary"
    assert possible(app) == {"Forward", "Where I stopped"}


@pytest.mark.slow
def test_a_button_that_has_gone_answers_nothing(open_page, directory):
    """Browsers let one key press a button and the one that replaces it; the page asks the next question by then."""
    app = start(begin(open_page, directory))
    app.session_state["asked"] = (1, "ann", 1)
    app = press(app, "Yes")
    assert open_answers(directory).progress(1).empty
    assert asked(app) == (1, 1)
    assert asked(press(app, "No")) == (1, 2)


@pytest.mark.slow
def test_the_last_image_can_be_looked_at_again(open_page, directory):
    app = start(begin(open_page, directory, images=2))
    for _ in range(12):
        app = press(app, "No")
    assert press(press(app, "Back"), "Yes").success
    answers = open_answers(directory)
    assert answers.of_image(1, "ann", answers.sheet(1)["example"][1]).answers["fine_grained"] == 1


@pytest.mark.slow
def test_categories_are_kept_for_their_image(open_page, directory):
    app = start(begin(open_page, directory))
    pills = app.get("button_group")[-1]
    assert pills.options == list(CATEGORIES)
    pills.set_value(["atypical", "abstract"]).run()
    answers = open_answers(directory)
    images = answers.sheet(1)["example"]
    assert answers.of_image(1, "ann", images[0]).categories == ("abstract", "atypical")
    for _ in range(6):
        app = press(app, "Yes")
    assert app.get("button_group")[-1].value == []
    app = press(app, "Previous image")
    assert app.get("button_group")[-1].value == ["abstract", "atypical"]
    app.get("button_group")[-1].set_value(["atypical"]).run()
    assert answers.of_image(1, "ann", images[0]).categories == ("atypical",)
    assert set(answers.labels("test", seal(directory)).query("kind == 'category'")["label"]) == {
        "atypical"
    }


@pytest.mark.slow
def test_each_rater_has_a_place(open_page, directory):
    app = answered(open_page, directory, 7)
    assert asked(app) == (2, 2)
    bob = open_page(directory, "label", rater="bob")
    assert asked(bob) == (1, 1)
    assert "Images answered by other raters: ann 1" in words(bob)
    again = open_page(directory, "label", rater=" ANN ")
    assert asked(again) == (2, 2)
    assert "other raters" not in words(again)
    again = press(again, "Not you?")
    assert again.text_input[0].label == "Your name"
    assert "rater" not in again.query_params


@pytest.mark.slow
def test_two_studies_are_kept_apart(open_page, directory):
    begin(open_page, directory)
    app = start(begin(open_page, directory, seed=5))
    for _ in range(6):
        app = press(app, "No")
    assert app.selectbox("series").value == 2
    app.selectbox("series").set_value(1).run()
    assert asked(app) == (1, 1)
    assert open_answers(directory).progress(1).empty


@pytest.mark.slow
def test_nothing_tells_which_images_are_pies(open_page, directory):
    """Pages of two images differ in the image, its true class and its place, whichever kind it is of.

    Until the last question, which is about all three labels: two of them differ for PIEs.
    """
    app = start(begin(open_page, directory, images=8))
    answers, seen = open_answers(directory), set()
    for place, image in enumerate(answers.sheet(1)["example"]):
        app.run()
        assert asked(app) == (place + 1, 1)
        labelled, *others = [each.value for each in app.markdown if not each.value.startswith("**")]
        assert re.fullmatch(r"Label 1: \*\*[^*]+\*\*", labelled)
        picture = re.sub('base64,[^"]*', "", bodies(app)[0])
        words = [button.label for button in app.button] + [caption.value for caption in app.caption]
        seen.add(
            (
                *others,
                picture,
                *words,
                bar(app).replace(f"Image {place + 1} ", ""),
                str(app.query_params),
            )
        )
        answers.record(1, "ann", image, dict.fromkeys(KEYS[:-1], 1))
        app.run()
        assert asked(app) == (place + 1, 6)
        assert len(re.findall("Label", "".join(each.value for each in app.markdown))) == 3
        answers.record(1, "ann", image, {KEYS[-1]: 1})
    assert len(seen) == 1
    assert "pie" not in str(seen).lower()


@pytest.mark.slow
def test_the_number_of_pies_is_not_told(open_page, directory):
    app = open_page(directory, "label")
    box = next(box for box in app.number_input if box.label == "Images")
    assert box.max is None or box.max > 200
    for wrong in (1000, 3):
        box.set_value(wrong)
        app = press(app, "Begin")
        (error,) = app.error
        assert unescaped(error.value).startswith(f"images: got {wrong}, expected an even number")
        assert not set(re.findall(r"\d+", error.value)) - {str(wrong)}
        box = next(box for box in app.number_input if box.label == "Images")
    assert not (directory / "answers.sqlite").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "*a* :cat: $x$ [l](u)", "👩‍🔬, Zoë"])
def test_hostile_raters_are_text(open_page, directory, name):
    app = start(begin(open_page, directory), name)
    app = press(app, "Yes")
    assert open_answers(directory).progress(1)["rater"].tolist() == [name]
    assert f"Rater: {name}" in [unescaped(caption.value) for caption in app.caption]
    for shown in (app, open_page(directory, "label", rater="bob")):
        assert not any("<script>" in text.value for text in (*shown.markdown, *shown.caption))


def test_a_name_that_is_no_name_is_one_line(open_page, directory):
    begin(open_page, directory)
    app = open_page(directory, "label", rater="x" * 61)
    assert "rater: got a name of 61 characters, expected 1 to 60" in unescaped(app.error[0].value)
    assert app.text_input[0].label == "Your name"


def only_the_first(images):
    return [images[0], *without_images(images[1:])]


def reversed_images(images):
    return images[::-1]


@pytest.mark.slow
def test_a_missing_image_can_be_judged(open_page, directory):
    change_images(open_store(directory), only_the_first)
    app = start(begin(open_page, directory))
    assert "no image stored" in bodies(app)[0]
    assert asked(press(app, "Yes")) == (1, 2)


def test_a_study_without_images_cannot_be_rated(open_page, directory):
    change_images(open_store(directory), without_images)
    app = open_page(directory, "label")
    assert "stores no images" in app.info[0].value
    assert not app.button
    assert not (directory / "answers.sqlite").exists()


@pytest.mark.slow
@pytest.mark.parametrize("answered_before", [0, 6])
def test_a_name_that_is_taken_is_asked_about(open_page, directory, answered_before):
    """Also of two who start under one name before either answers."""
    answered(open_page, directory, answered_before)
    app = start(open_page(directory, "label"), " ANN ")
    complete = answered_before // 6
    assert f"ANN** has answered {complete} images of this study" in app.warning[0].value
    assert "rater" not in app.query_params
    assert asked(start(app, "bob")) == (1, 1)
    app = press(start(open_page(directory, "label"), "Ann"), "I am Ann, go on")
    assert asked(app) == (1 + complete, 1)


def test_a_damaged_file_is_one_line_and_stays(open_page, directory):
    damaged = b"no database" * 500
    (directory / "answers.sqlite").write_bytes(damaged)
    (error,) = open_page(directory, "label").error
    assert "which is not an SQLite file" in error.value
    assert (directory / "answers.sqlite").read_bytes() == damaged


@pytest.mark.slow
def test_a_file_that_fails_meanwhile_is_one_line(open_page, directory):
    app = start(begin(open_page, directory))
    (directory / "answers.sqlite").write_bytes(b"no database" * 500)
    errors = press(app, "Yes").error
    assert errors
    assert all("is not an SQLite file" in error.value for error in errors)


def test_no_exemplars_nothing_to_rate(open_page, tmp_path):
    from tests.builders.populations import population
    from tfaudit.store.external import import_predictions

    store = import_predictions(tmp_path, population(1), {"same": population(1)}, name="same")
    app = open_page(store.directory, "label")
    assert "nothing to rate" in app.info[0].value
    assert not app.button


@pytest.mark.slow
def test_other_pies_since_the_study_was_drawn(open_page, directory):
    app = start(begin(open_page, directory, images=20))
    press(app, "Yes")
    grown = make_study(directory, members=9)
    assert grown.directory == directory
    app = open_page(directory, "label", rater="ann", part="Progress and analysis")
    app = press(app, "Unblind and analyse")
    assert "the sample stays the same" in words(app)


@pytest.mark.slow
def test_studies_of_images_that_were_replaced_are_not_shown(open_page, directory):
    app = start(begin(open_page, directory))
    app = press(app, "Yes")
    assert "replaced" not in words(app)
    change_images(open_store(directory), reversed_images)
    app = open_page(directory, "label", rater="ann", series="1")
    assert (
        "Human studies of images that have since been replaced, stored but not shown: 1."
        in words(app)
    )
    assert not [box for box in app.selectbox if box.label == "Study"]
    app = press(app, "Begin")
    assert app.selectbox("series").value == 2
    assert asked(app) == (1, 1)
    answers = open_answers(directory)
    assert answers.studies("test", seal(directory))["study"].tolist() == [2]
    assert answers.progress(1)["rater"].tolist() == ["ann"]


@pytest.mark.slow
def test_images_that_are_replaced_while_a_rater_looks(open_page, directory):
    app = start(begin(open_page, directory))
    change_images(open_store(directory), reversed_images)
    app = press(app, "Yes")
    assert "expected the same examples; read the study again" in unescaped(app.error[0].value)
    assert "Yes" not in [button.label for button in app.button]
    begin(open_page, directory)  # another visitor
    app = press(app, "Read it again")
    assert not app.error
    assert app.selectbox("series").value == 2
    assert asked(app) == (1, 1)
    assert "stored but not shown: 1." in words(app)
