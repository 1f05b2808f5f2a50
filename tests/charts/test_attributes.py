"""Charts of over-indexing, of attributes and of the human study."""

import re

import numpy as np
import pandas as pd

from tests.builders.drawings import assert_fits, texts
from tests.builders.populations import population
from tfaudit.audits.attributes.attributes import attributes
from tfaudit.audits.exemplars.exemplars import exemplars
from tfaudit.audits.survey.questions import QUESTIONS
from tfaudit.audits.survey.sample import survey_sample
from tfaudit.audits.survey.survey import survey
from tfaudit.charts.rendering import inline_svg

BEFORE, AFTER = population(1, examples=400), population(2, examples=400, hurt=[3])
FOUND = exemplars(BEFORE, AFTER)
PIE = np.isin(np.arange(400), FOUND.index)
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {"blond": RNG.random(400) < 0.2 + 0.5 * PIE, "hair": RNG.choice(["black", "grey"], 400)}
)


def strokes(chart, colour):
    return len(re.findall(rf'<line [^>]*stroke="{colour}"', inline_svg(chart, "")))


def test_names_carry_values_and_ratios_the_highest_first():
    found = attributes(BEFORE, AFTER, TABLE)
    shown = [text for text in texts(found.chart()) if text and "×" in text]
    assert shown[0].startswith("blond, ")
    assert {text.split(",")[0] for text in shown} == {"blond", "hair: black", "hair: grey"}
    ratios = [float(re.search(r"([\d.]+) ×", text)[1]) for text in shown]
    assert ratios == sorted(ratios, reverse=True)
    assert (
        strokes(found.chart(), "#d07c00") == found.summary()["over"] + found.summary()["under"] == 1
    )


def test_the_survey_has_a_chart_that_fits():
    sample = survey_sample(FOUND, 40, seed=0)
    pie = sample.key["is_pie"].to_numpy()
    answers = sample.key.assign(
        rater="ann", **{q.key: np.where(pie, q.holds, 1 - q.holds) for q in QUESTIONS}
    )
    chart = survey(answers).chart()
    # No ratio: no other image has any.
    assert {question.attribute for question in QUESTIONS} <= set(texts(chart))
    assert_fits(chart, 400)
    assert strokes(chart, "#d07c00") == 6


def test_the_longest_attribute_of_the_survey_keeps_its_ratio():
    table = pd.DataFrame({"incorrect or inadequate label": RNG.random(400) < 0.5})
    shown = texts(attributes(BEFORE, AFTER, table).chart())
    assert any((text or "").endswith("×") for text in shown)


def test_without_exemplars_there_is_still_a_chart():
    assert "hair: grey" in texts(attributes(BEFORE, BEFORE, TABLE).chart())


def test_the_most_telling_of_many():
    table = pd.DataFrame({f"a{i}": RNG.random(400) < 0.5 for i in range(60)}).assign(
        blond=TABLE["blond"]
    )
    shown = texts(attributes(BEFORE, AFTER, table).chart())
    assert sum("×" in (text or "") for text in shown) == 40
    assert any((text or "").startswith("blond") for text in shown)
