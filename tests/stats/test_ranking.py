"""Ranking in blocks against NumPy's stable sort and SciPy's softmax."""

import numpy as np
import pytest
import scipy.special
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from tests.builders.refusals import assert_refused
from tfaudit.stats.ranking import rank_scores, scores_of_both, stated_kind


@given(
    hnp.arrays(
        np.float32, st.tuples(st.integers(1, 9), st.integers(2, 7)), elements=st.integers(-3, 3)
    ),
    st.integers(1, 8),
    st.integers(1, 4),
)
def test_equals_a_stable_sort_and_softmax_whatever_the_blocks(scores, k, rows):
    blocks = [scores[i : i + rows] for i in range(0, len(scores), rows)]
    shares = scores.min() >= 0 and scores.max() <= 1
    assume(not shares or (scores.sum(1) == 1).all())
    ranked, probabilities = rank_scores(blocks, k=k)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    assert_array_equal(ranked, expected)
    softmax = scores if shares else scipy.special.softmax(scores.astype(float), axis=1)
    assert_allclose(probabilities, np.take_along_axis(softmax, expected, 1), rtol=1e-5)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_probabilities_stay_as_they_are_in_any_precision(rng, kind):
    shares = rng.dirichlet(np.ones(50), 20).astype(kind)
    ranked, probabilities = rank_scores([shares], k=3)
    assert_array_equal(ranked[:, 0], shares.argmax(1))
    assert_allclose(probabilities, -np.sort(-shares, axis=1)[:, :3].astype(np.float32))


def test_one_row_that_is_no_probability_makes_all_logits():
    shares, logits = np.array([[0.2, 0.8]]), np.array([[3.0, 1.0]])
    _, probabilities = rank_scores([shares, logits], k=1)
    assert_allclose(probabilities[0], scipy.special.softmax(shares[0]).max(), rtol=1e-6)


ROUNDED = np.array([[0.33, 0.33, 0.33], [0.0, 1.0, 0.0]])


@pytest.mark.parametrize("blocks", [[ROUNDED], [ROUNDED[1:], ROUNDED[:1]]])
def test_scores_that_may_be_either_are_not_guessed(blocks):
    """Probabilities of two digits; once they silently became logits, of about equal probabilities."""
    message = r"scores: got scores in \[0, 1\] with row sums of 0.99 to 1, expected sums of 1, or scores_are .* set to"
    assert_refused(message, rank_scores, blocks)
    _, probabilities = rank_scores(blocks, k=1, probabilities=True)
    assert_allclose(np.sort(probabilities[:, 0]), [0.33, 1])
    _, probabilities = rank_scores(blocks, k=1, probabilities=False)
    assert_allclose(np.sort(probabilities[:, 0]), [1 / 3, np.e / (2 + np.e)])


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0, 0.4, 1.0000001], True),
        ([-1e-16, 0.4, 1], True),
        ([-3, 2], False),
        ([0.2, 87.5], r"0.2 to 87.5, expected numbers in \[0, 1\], logits of both signs"),
        ([-2.3, -0.1], "-2.3 to -0.1, expected numbers in"),
        ([-0.03, 1.02], "-0.03 to 1.02, expected numbers in"),
        ([0.5, np.inf], "inf in row 1, expected finite numbers"),
    ],
)
def test_one_score_is_a_probability_or_a_logit_or_asked(scores, expected):
    scores = np.array(scores)
    if isinstance(expected, str):
        assert_refused(expected, scores_of_both, scores)
        return
    both, probabilities = scores_of_both(scores)
    assert probabilities == expected
    (top,), (two,) = rank_scores([both[1:2]], k=1, probabilities=probabilities)
    threshold = 0.5 if expected else 0
    assert top == (scores[1] > threshold)
    assert two == max(both[1]) if expected else two == scipy.special.softmax(both[1]).max()


def test_many_scores_have_the_tolerance_of_one():
    shares = np.array([[-1e-16, 1 + 1e-16], [0.4, 0.6]])
    assert_array_equal(rank_scores([shares], k=1).probabilities[:, 0], [1, 0.6])
    assert_refused(
        r"rows that sum to 1, of scores from -0.02 to 1.02",
        rank_scores,
        [np.array([[-0.02, 1.02], [0.5, 0.5]])],
    )


def test_logits_are_no_probabilities():
    assert_refused(
        r"scores: got -2 to 3, expected probabilities in \[0, 1\]",
        rank_scores,
        [np.array([[-2.0, 3.0]])],
        probabilities=True,
    )


@pytest.mark.parametrize(("kind", "classes"), [(np.float16, 1000), (np.float32, 20_000)])
def test_softmax_in_low_precision_sums_to_1(rng, kind, classes):
    shares = scipy.special.softmax(rng.normal(0, 4, (200, classes)), axis=1).astype(kind)
    _, probabilities = rank_scores([shares], k=1)
    assert_array_equal(probabilities[:, 0], shares.max(1).astype(np.float32))


def test_what_scores_are_is_one_of_three_words():
    assert [stated_kind(word) for word in ("auto", "probabilities", "logits")] == [
        None,
        True,
        False,
    ]
    assert_refused(
        "scores_are: got 'softmax', expected 'auto', 'probabilities' or 'logits'",
        stated_kind,
        "softmax",
    )


def test_logits_as_large_as_floats_get():
    _, probabilities = rank_scores([np.array([[3e38, -3e38, 3e38]], np.float32)])
    assert_array_equal(probabilities, [[0.5, 0.5, 0]])


def test_what_is_given_stays_as_it_is():
    scores = np.array([[1.0, 2.0]])
    rank_scores([scores])
    assert scores.tolist() == [[1, 2]]


def test_what_cannot_be_ranked():
    assert_refused("scores: got no examples, expected at least one", rank_scores, [])
    assert_refused(
        "scores: got nan in row 3, class 1, expected finite numbers",
        rank_scores,
        [np.ones((3, 2)), np.array([[0, np.nan]])],
    )
