"""Predictions against scikit-learn and SciPy, with the invariants that every audit leans on."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import accuracy_score, recall_score, top_k_accuracy_score

from tests.builders.refusals import assert_refused
from tfaudit import Predictions
from tfaudit.audits.comparison import Comparison
from tfaudit.predictions import frozen
from tfaudit.stats.ranking import RankedClasses


def random_predictions(rng, members=5, examples=60, classes=4, k=3):
    scores = rng.random((members, examples, classes))
    scores /= scores.sum(-1, keepdims=True)
    labels = np.resize(np.arange(classes), examples)
    return labels, scores, Predictions.from_scores(labels, scores, k=k)


def test_accuracy_and_recall_equal_scikit_learn(rng):
    labels, scores, predictions = random_predictions(rng)
    for member, score in enumerate(scores):
        answer = score.argmax(-1)
        assert predictions.accuracy()[member] == pytest.approx(accuracy_score(labels, answer))
        assert predictions.accuracy(2)[member] == pytest.approx(
            top_k_accuracy_score(labels, score, k=2)
        )
        np.testing.assert_allclose(
            predictions.recall()[member], recall_score(labels, answer, average=None)
        )


def test_a_class_without_examples_has_no_recall():
    recall = Predictions([0, 0], [[[0], [1]]], class_names=["a", "b", "c"]).recall()
    np.testing.assert_array_equal(recall, [[0.5, np.nan, np.nan]])


@given(
    hnp.arrays(
        np.int64, st.tuples(st.integers(1, 7), st.integers(1, 6)), elements=st.integers(0, 3)
    )
)
def test_modal_label_equals_scipy(votes):
    predictions = Predictions.from_top1(np.zeros(votes.shape[1], int), votes)
    np.testing.assert_array_equal(predictions.modal(), scipy.stats.mode(votes, axis=0).mode)


def test_logits_and_their_probabilities_rank_alike(rng):
    logits = rng.normal(size=(2, 9, 5)) * 4
    exponents = np.exp(logits)
    a = Predictions.from_scores(np.zeros(9, int), logits)
    b = Predictions.from_scores(np.zeros(9, int), exponents / exponents.sum(-1, keepdims=True))
    np.testing.assert_array_equal(a.ranked, b.ranked)
    np.testing.assert_allclose(a.probabilities, b.probabilities)


def test_equal_scores_rank_the_lower_class_first():
    assert Predictions.from_scores([0], [[0.25, 0.25, 0.25, 0.25]]).ranked.tolist() == [
        [[0, 1, 2, 3]]
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": [0, 1]}, "ranked: got 1 examples, expected 2"),
        ({"labels": [0.0]}, "labels: got values of type float64"),
        ({"ranked": [[0]]}, r"ranked: got shape \(1, 1\), expected 3 dimensions"),
        ({"labels": [-1]}, "labels: got class -1"),
        ({"ranked": [[[1, 1]]]}, "ranked: got a class twice"),
        (
            {"ranked": [[[3]]], "class_names": ["a", "b"]},
            "class_names: got 2 names, expected 4 or more",
        ),
        ({"probabilities": [[[np.nan]]]}, "probabilities: got nan to nan"),
        ({"probabilities": [[0.5]]}, "probabilities: got shape"),
        ({"probabilities": [[[1.02]]]}, "probabilities: got 1.02 to 1.02, expected values in"),
        (
            {"labels": [1], "ranked": [[[0]]], "class_names": ["a"]},
            "labels: got classes 1 to 1, expected 0 to 0, as there are 1 classes; subtract 1 from classes that are",
        ),
        ({"labels": ["cat"]}, "labels: got classes cat, expected class_names, in the order of"),
        (
            {"labels": ["cow"], "class_names": ["cat"]},
            "labels: got classes cow, expected names such as cat",
        ),
        (
            {"labels": [0, 0], "ranked": [[[0], [0]]], "example_ids": ["x", "x"]},
            "example_ids: got an id twice",
        ),
        ({"example_ids": ["x", "y"]}, "example_ids: got shape"),
        ({"members": [1, 2]}, "members: got 2 names, expected 1"),
        ({"labels": np.zeros(0, int), "ranked": np.zeros((1, 0, 1), int)}, "at least one member"),
        ({"labels": np.array([[0.5, 0.5]])}, "labels: got values of type float64, expected integ"),
    ],
)
def test_bad_input_is_one_clear_line(arguments, message):
    assert_refused(message, Predictions, **{"labels": [0], "ranked": [[[0]]], **arguments})


def test_classes_may_be_called_by_name_wherever_names_are_known(rng):
    names, labels = np.array(["cat", "dog", "elk"]), np.array([2, 0, 1, 1])
    top1, scores = np.array([[2, 0, 0, 1], [1, 0, 1, 1]]), rng.normal(size=(4, 3))
    expected = Predictions.from_top1(labels, top1, class_names=names)
    for by_name in (
        Predictions.from_top1(names[labels], names[top1]),
        Predictions.from_top1(names[labels].astype(object), top1, class_names=names),
        Predictions(pd.Series(names[labels]), names[top1][..., None], class_names=names),
    ):
        assert by_name.class_names == ("cat", "dog", "elk")
        np.testing.assert_array_equal(by_name.recall(), expected.recall())
    ranked = Predictions.from_scores(labels, scores, class_names=names)
    order = [1, 2, 0]
    numbered = [f"p{i}" for i in order]
    for frame, truth in (
        (pd.DataFrame(scores, columns=names), names[labels]),
        (pd.DataFrame(scores[:, order], columns=numbered), labels),
    ):
        np.testing.assert_array_equal(Predictions.from_scores(truth, frame).ranked, ranked.ranked)
    shuffled = pd.DataFrame(scores[:, order], columns=names[order])
    again = Predictions.from_scores(names[labels], shuffled, class_names=names)
    np.testing.assert_array_equal(again.ranked, ranked.ranked)
    assert_refused(
        "labels: got classes cat, dog, elk, expected class_names, in the order of the class numbers",
        Predictions.from_scores,
        names[labels],
        scores,
    )
    assert_refused(
        "scores: got columns p1, p2, p3, expected numbers from 0, or class_names and an array",
        Predictions.from_scores,
        labels,
        pd.DataFrame(scores, columns=["p1", "p2", "p3"]),
    )


def test_questions_that_cannot_be_answered():
    predictions = Predictions([0], [[[0]]])
    assert_refused("k: got 2, expected 1 to 1", predictions.accuracy, 2)
    assert_refused(
        "scores: got nan in row 0, class 0, expected finite numbers",
        Predictions.from_scores,
        [0],
        [[np.nan, 1.0]],
    )


def test_input_is_neither_changed_nor_changeable():
    labels = np.array([0, 1])
    predictions = Predictions(labels, [[[0], [1]]])
    labels[0] = 1
    assert predictions.labels.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        predictions.ranked[0] = 1


def test_only_read_only_arrays_are_not_copied():
    mine = np.array([[[0], [1]]])
    given = frozen(mine.copy())
    view = mine[:]
    view.flags.writeable = False
    for ranked, shared in ((mine, False), (given, True), (view, False)):
        assert np.shares_memory(Predictions([0, 1], ranked).ranked, ranked) is shared


def test_cached_arrays_are_read_only(rng):
    predictions = random_predictions(rng)[2]
    for cached in (
        predictions.correct(2),
        predictions.right(2),
        predictions.modal(),
    ):
        with pytest.raises(ValueError, match="read-only"):
            cached[0] = 0
    assert predictions.right(2) is predictions.right(2)
    assert (predictions.correct(2) >= predictions.correct(1)).all()


def test_one_hot_labels_and_one_score_per_example_are_read_as_keras_gives_them(rng):
    labels, share = np.array([0, 1, 1, 0]), np.array([0.25, 0.75, 0.5, 0.125])
    both = Predictions.from_scores(labels, np.stack([1 - share, share], axis=1))
    logits = np.log(share / (1 - share))
    for scores in (share, share[:, None], logits, logits[:, None]):
        alone = Predictions.from_scores(np.eye(2)[labels], scores)
        assert alone.labels.tolist() == labels.tolist()
        assert alone.ranked.tolist() == both.ranked.tolist()
        np.testing.assert_allclose(alone.probabilities, both.probabilities, rtol=1e-12)
    population = Predictions.from_scores(
        labels[:, None], np.stack([share, logits])[..., None], scores_are="logits"
    )
    assert population.top1.tolist() == [[1, 1, 1, 1], [0, 1, 0, 0]]
    assert_refused(
        r"labels: got values of type float64, expected integers",
        Predictions,
        np.array([[0.5, 0.5]]),
        [[[0]]],
    )


def test_copies_are_clusters_where_they_matter_and_none_are_named():
    """Ten examples of two contents; two of sixty; and clusters that are named."""

    def ranked(contents):
        classes = np.zeros((len(contents), 1), int)
        return RankedClasses(classes, contents=np.array(contents, object))

    many = ranked([b"a", b"b"] * 5)
    made = Predictions(np.arange(10) % 2, [many, many])
    assert made.clusters.tolist() == [0, 1] * 5
    assert made.clusters_are_copies
    again = RankedClasses.joined([many.take(np.arange(4)), many.take(np.arange(4, 10))])
    assert Predictions(np.arange(10) % 2, again).clusters.tolist() == [0, 1] * 5
    few = [b"%d" % max(i, 1) for i in range(60)]
    assert Predictions(np.zeros(60, int), ranked(few)).clusters is None
    named = Predictions(np.arange(10) % 2, many, clusters=np.arange(10) // 2)
    assert named.clusters.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    other = Predictions(made.labels, ranked([b"a"] * 10))
    assert Comparison(other, named).clusters is Comparison(named, other).clusters is named.clusters
    assert Comparison(made, other).clusters is made.clusters
    assert Predictions(made.labels, made.member(1)).clusters.tolist() == made.clusters.tolist()
