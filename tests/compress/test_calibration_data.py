"""Calibration data: every form that Keras takes gives examples of all classes, however they are sorted."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_array_equal

from tests.builders.refusals import assert_refused
from tfaudit.compress.calibration_data import calibration_inputs
from tfaudit.compress.model_inputs import Input
from tfaudit.datasets import representative
from tfaudit.datasets.examples import as_dataset
from tfaudit.errors import Notice

IMAGE = Input("images", (2, 2, 1), np.dtype("float32"))
X = np.repeat(np.arange(300.0), 4).reshape(300, 2, 2, 1)
Y = np.repeat([0, 1, 2], [200, 92, 8])
CUTS = [slice(start, start + 32) for start in range(0, 300, 32)]
SLICES = tf.data.Dataset.from_tensor_slices


class Batches(keras.utils.PyDataset):
    def __init__(self, *parts):
        super().__init__()
        self.parts = parts

    def __len__(self):
        return len(CUTS)

    def __getitem__(self, index):
        def cut(part):
            return [cut(one) for one in part] if isinstance(part, list) else part[CUTS[index]]

        return tuple(map(cut, self.parts))


@pytest.mark.parametrize(
    "data",
    [
        (X, Y),
        (X, np.eye(3)[Y]),
        (X, Y.astype(str), np.ones(300)),
        as_dataset((X, Y), "data", "train"),
        SLICES((X, Y)).batch(32),
        SLICES((X, np.eye(3)[Y])).batch(32),
        SLICES((X, Y)),
        Batches(X, Y.astype(float), np.ones(300)),
        [(X[cut], Y[cut]) for cut in CUTS],
        ((x, y) for x, y in zip(X, Y, strict=True)),
        zip(X, Y[:, None], strict=True),
    ],
)
def test_with_labels_every_class_is_drawn(data):
    drawn = calibration_inputs(data, [IMAGE], 18)
    assert drawn.shape[1:3] == (2, 2)
    assert np.bincount(Y[drawn[:, 0, 0].astype(int).ravel()]).tolist() == [6, 6, 6]


@pytest.mark.parametrize(
    "data",
    [
        X,
        (X,),
        (X, X),  # of an autoencoder
        [*X],
        [X[cut] for cut in CUTS],
        SLICES(X).batch(32),
        Batches(X, X),
        (x for x in X),
        lambda: ([x[None]] for x in X),  # as TensorFlow Lite takes it
    ],
)
def test_without_labels_examples_are_of_all_parts(data):
    drawn = calibration_inputs(data, [IMAGE], 30)[:, 0, 0, 0]
    assert len(set(drawn.tolist())) == 30
    assert min(np.bincount((drawn // 100).astype(int), minlength=3)) >= 5


A, B = X[:, 0, 0], 2 * X[:, 0]
TWO = (Input("a", (1,), None), Input("b", (2, 1), None))


@pytest.mark.parametrize(
    "data",
    [
        {"a": A, "b": B},
        (A, B),
        [A, B],
        ((A, B), Y),
        ({"a": A, "b": B}, Y),
        ([A, B], Y),
        Batches([A, B], Y),
        SLICES(({"a": A, "b": B}, Y)).batch(32),
        SLICES({"a": A, "b": B}),
        [[A[cut], B[cut]] for cut in CUTS],
        lambda: ([a[None], b[None]] for a, b in zip(A, B, strict=True)),
    ],
)
def test_rows_of_several_inputs_stay_together(data):
    drawn = calibration_inputs(data, TWO, 15)
    a, b = drawn.values() if isinstance(drawn, dict) else drawn
    assert (a.shape, b.shape) == ((15, 1), (15, 2, 1))
    assert_array_equal(2 * a, b[:, 0])
    assert a.max() >= 200


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (X[:0], "no examples"),
        ((X, Y[:9]), "9 labels, expected 300"),
        (SLICES(X).repeat(), "an endless tf.data.Dataset"),
        ([X[:3], np.zeros((2, 3, 2, 1))], "examples of 2 sizes"),
        ("images", "str"),
        ([["a"]], "str"),
    ],
)
def test_what_calibrates_nothing_is_one_line(data, message):
    assert_refused(f"representative: got {message}", calibration_inputs, data, [IMAGE], 100)


def test_a_stream_is_read_up_to_a_bound(monkeypatch):
    monkeypatch.setattr(representative, "MOST_READ", 100)
    draws = np.random.default_rng(0)
    endless = (draws.random((32, 2, 2, 1)) for _ in itertools.count())
    with pytest.warns(Notice, match="representative: the first 128 examples"):
        assert len(calibration_inputs(endless, [IMAGE], 50)) == 50
