"""What tests of all audits test here, too."""

import numpy as np
import pandas as pd

from tests.builders.populations import population
from tfaudit.audits.exemplars.exemplars import exemplars
from tfaudit.extensions.survey.questions import QUESTIONS
from tfaudit.extensions.survey.sample import survey_sample
from tfaudit.extensions.survey.survey import survey


def answers():
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        [(rater, image) for rater in "ab" for image in range(40)], columns=["rater", "example"]
    )
    table["is_pie"] = table["example"] % 2 == 0
    return table.assign(
        **{question.key: random.integers(0, 2, len(table)) for question in QUESTIONS}
    )


FOUND = exemplars(population(0), population(1, hurt=[3]))
REFUSALS = [("answers", (lambda: survey(None), "answers: got None, expected a pandas.DataFrame"))]
RESULTS = [
    ("survey", lambda: survey(answers())),
    ("survey sample", lambda: survey_sample(FOUND, 10, seed=0)),
]
