"""The human study: the shares of [F] 3.2, SciPy, hand counts of agreement; the blind sample; refusals."""

import math
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from statsmodels.stats.multitest import multipletests

from tests.builders.populations import population
from tests.builders.refusals import assert_refused
from tfaudit.audits.exemplars.exemplars import exemplars
from tfaudit.extensions.survey.questions import QUESTIONS, Question
from tfaudit.extensions.survey.sample import survey_sample
from tfaudit.extensions.survey.survey import survey

# [F] 3.2 prints shares without counts. No two totals give all of them, so some answers must be missing: these totals
# around 400 give each share as printed. Attribute: (PIEs with it, PIEs judged, non-PIEs with it, non-PIEs judged).
PAPER = {
    "incorrect or inadequate label": (80, 399, 34, 382, "20.05", "8.90"),
    "multiple objects": (236, 399, 151, 382, "59.15", "39.53"),
    "corrupted image": (55, 401, 50, 348, "13.72", "14.37"),
    "fine grained": (162, 372, 34, 382, "43.55", "8.90"),
    "abstract representation": (23, 399, 13, 379, "5.76", "3.43"),
}
ASKED = [question for question in QUESTIONS if question.attribute in PAPER]
FOX = Question("fox", "Is there a fox?", "fox", 1)


def survey_of(answers, *questions):
    """The result for other questions than those of [F]."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["tfaudit.extensions.survey.survey"], "QUESTIONS", questions)
        return survey(answers)


def paper_answers():
    """One rater and 401 + 401 images, with the counts of the paper."""
    table = pd.DataFrame(
        {"rater": "ann", "example": np.arange(802), "is_pie": np.arange(802) < 401}
    )
    for question in ASKED:
        column = np.full(802, np.nan)
        pies, judged, others, others_judged = PAPER[question.attribute][:4]
        for start, some, total in ((0, pies, judged), (401, others, others_judged)):
            column[start : start + total] = 1 - question.holds
            column[start : start + some] = question.holds
        table[question.key] = column
    return table


def asked(votes, pies=(0, 1)):
    """Answers about foxes: one list per image, an answer of each rater."""
    rows = [
        (f"r{j}", i, i in pies, answer)
        for i, each in enumerate(votes)
        for j, answer in enumerate(each)
    ]
    return pd.DataFrame(rows, columns=["rater", "example", "is_pie", "fox"])


def row_of(votes):
    """The row of the question about foxes."""
    return survey_of(asked(votes), FOX).frame().iloc[0]


def test_the_shares_of_the_paper():
    found = survey_of(paper_answers(), *ASKED)
    for row in found.frame().to_dict("records"):
        *_, pie, other = PAPER[row["attribute"]]
        assert f"{100 * row['share_pie']:.2f}" == pie
        assert f"{100 * row['share_non_pie']:.2f}" == other
        assert row["ratio"] == pytest.approx(float(pie) / float(other), rel=1e-2)
    assert found.summary()["over"] == [
        "fine grained",
        "incorrect or inadequate label",
        "multiple objects",
    ]
    assert found.frame().set_index("attribute").loc["corrupted image", "ratio"] < 1


def test_fisher_and_holm():
    frame = survey_of(paper_answers(), *ASKED).frame()
    expected = []
    for attribute in frame["attribute"]:
        a, n, b, m, *_ = PAPER[attribute]
        expected.append(stats.fisher_exact([[a, n - a], [b, m - b]]).pvalue)
    assert_allclose(frame["p"], expected)
    assert_allclose(frame["p_holm"], multipletests(expected, method="holm")[1])
    assert set(frame["test"]) == {"Fisher exact"}


def test_questions_turn_the_right_way():
    """A label that is right, one object and a typical image are no attributes of note; the other yeses are."""
    rows = pd.DataFrame({"rater": ["ann", "ann"], "example": [0, 1], "is_pie": [1, 0]})
    frame = (
        survey(rows.assign(**{question.key: 1 for question in QUESTIONS}))
        .frame()
        .set_index("question")
    )
    assert frame.index[frame["share_pie"] == 1].tolist() == [
        "corrupted",
        "fine_grained",
        "abstract",
    ]
    assert frame.index[frame["share_pie"] == 0].tolist() == [
        "accurate_label",
        "single_object",
        "typical",
    ]
    assert len(QUESTIONS) == 6


def test_most_raters_decide():
    votes = [[1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 1]]
    row = row_of(votes)
    assert (row["share_pie"], row["share_non_pie"], row["ratio"]) == (0.5, 0.5, 1)
    assert (row["answers"], row["raters"], row["undecided"]) == (12, 3, 0)


def test_divided_raters_do_not_decide():
    row = row_of([[1, 0], [1, 1], [0, 0], [0, 1]])
    assert row["undecided"] == 2
    assert (row["pies"], row["pies_judged"], row["non_pies"], row["non_pies_judged"]) == (
        1,
        1,
        0,
        1,
    )
    assert np.isnan(row["ratio"])


def kappa_by_hand(votes):
    """Pairs of raters that agree, against pairs drawn from all answers."""
    pairs = [
        a == b for each in votes for i, a in enumerate(each) for j, b in enumerate(each) if i != j
    ]
    share = np.mean(votes)
    expected = share**2 + (1 - share) ** 2
    return (np.mean(pairs) - expected) / (1 - expected)


def test_kappa_counts_pairs():
    votes = np.random.default_rng(0).integers(0, 2, (40, 5)).tolist()
    row = row_of(votes)
    assert row["kappa"] == pytest.approx(kappa_by_hand(votes))
    assert (row["kappa_examples"], row["kappa_raters"]) == (40, 5)


def test_kappa_of_different_numbers_of_raters():
    same = [[1, 1, 0], [0, 0, 0], [1, 1, 1]]
    found = survey_of(asked([*same, [1, 0], [1]]), FOX)
    assert found.frame()["kappa"].item() == pytest.approx(kappa_by_hand(same))
    assert found.notes == ("fox: kappa rests on the 3 of 5 images that have 3 raters.",)


def test_kappa_without_pairs_or_without_doubt():
    found = survey_of(asked([[1], [0], [1]]), FOX)
    assert math.isnan(found.frame()["kappa"].item())
    assert "no image has two raters" in found.notes[0]
    assert math.isnan(row_of([[1, 1], [1, 1], [1, 1]])["kappa"])
    assert row_of([[1, 1], [0, 0], [1, 1]])["kappa"] == 1


def test_a_question_without_answers():
    table = asked([[1], [0], [1]]).assign(fox=np.nan)
    row = survey_of(table, FOX).frame().iloc[0]
    assert (row["answers"], row["raters"], row["pies_judged"]) == (0, 0, 0)
    assert np.isnan(row["p"])


def test_one_kind_alone():
    found = survey_of(asked([[1], [0]]), FOX)
    assert np.isnan(found.frame()["p"].item())
    assert "No non-PIEs among the images: nothing to compare." in found.notes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda t: t.drop(columns=["fox", "rater"]),
            "answers: got no column rater, fox, expected the columns rater, example",
        ),
        (lambda t: t.assign(fox=2), "answers: got 2 in column fox, expected 0 and 1"),
        (
            lambda t: t.assign(rater="ann", example=0, is_pie=1),
            "answers: got two rows of rater ann about example 0",
        ),
        (lambda t: t.assign(example=0), "answers: got example 0 both as PIE and non-PIE"),
        (
            lambda t: t.assign(rater=[None, "b", "c"]),
            "answers: got column rater without a value in 1 of 3 rows",
        ),
        (lambda t: t.head(0), "answers: got no rows"),
    ],
)
def test_bad_answers(change, message):
    table = asked([[1], [0], [1]]).assign(rater=["a", "b", "c"])
    assert_refused(message, survey_of, change(table), FOX)


BEFORE, AFTER = population(1), population(2, hurt=[3])
FOUND = exemplars(BEFORE, AFTER)


def test_the_sample_is_balanced_blind_and_shuffled():
    sample = survey_sample(FOUND, 20, seed=3)
    assert list(sample.sheet) == ["example", "label_1", "label_2", "label_3"]
    assert sample.key["is_pie"].sum() == 10
    assert sample.sheet["example"].is_unique
    assert list(sample.sheet["example"]) == list(sample.key["example"])
    assert_array_equal(sample.key["is_pie"], np.isin(sample.sheet["example"], FOUND.index))
    assert 0 < sample.key["is_pie"].head(10).sum() < 10
    names = np.array(BEFORE.class_names)
    rows = sample.sheet["example"]
    assert list(sample.sheet["label_1"]) == list(names[BEFORE.labels[rows]])
    assert list(sample.sheet["label_2"]) == list(BEFORE.modal_classes().names(names)[rows])
    assert list(sample.sheet["label_3"]) == list(AFTER.modal_classes().names(names)[rows])


def test_the_seed_gives_the_sample():
    pd.testing.assert_frame_equal(
        survey_sample(FOUND, 20, seed=3).sheet, survey_sample(FOUND, 20, seed=3).sheet
    )
    assert not survey_sample(FOUND, 20, seed=3).sheet.equals(survey_sample(FOUND, 20, seed=4).sheet)


@pytest.mark.parametrize("n", [0, 7, 1000])
def test_bad_size_of_sample(n):
    assert_refused(
        rf"n: got {n}, expected an even number from 2 to {2 * len(FOUND.index)} ",
        survey_sample,
        FOUND,
        n,
        seed=0,
    )


def test_no_sample_without_exemplars():
    assert_refused(
        "exemplars: got 0 PIEs and 200 other examples, expected one or more of both",
        survey_sample,
        exemplars(BEFORE, BEFORE),
        2,
        seed=0,
    )


def test_labels_that_co_occur_are_tested_where_raters_say_so():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"rater": "ann", "example": np.arange(40), "is_pie": np.arange(40) < 20})
    rows = rows.assign(**{question.key: rng.integers(0, 2, 40) for question in QUESTIONS})
    together = np.where(rows["is_pie"], rng.random(40) < 0.6, rng.random(40) < 0.1)
    counts = [
        [sum(together[:20]), 20 - sum(together[:20])],
        [sum(together[20:]), 20 - sum(together[20:])],
    ]
    frame = survey(rows.assign(co_occurring=together.astype(int))).frame()
    assert len(frame) == 7
    row = frame.set_index("attribute").loc["frequently co-occurring labels"]
    assert row["p"] == pytest.approx(stats.fisher_exact(counts).pvalue)
    assert_allclose(frame["p_holm"], multipletests(frame["p"], method="holm")[1])
    assert len(survey(rows).frame()) == 6
