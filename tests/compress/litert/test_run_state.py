"""Files that keep a state: an example's scores depend neither on those before it nor on its batch."""

import numpy as np
import pytest

from tests.builders.flatbuffers import lstm, streaming, svdf
from tfaudit.compress.litert.inference import predict

FILES = {
    "an LSTM for one example": (lstm(), (5, 3)),
    "an LSTM for batches of four": (lstm(4), (5, 3)),
    "an LSTM with an open batch": (lstm(open_batch=True), (5, 3)),
    "SVDF": (svdf(), (3,)),
    "SVDF for batches of two": (svdf(2), (3,)),
    "a variable": (streaming(), (3,)),
    "a variable that a batch shares": (streaming(3), (3,)),
    "a variable and an open batch": (streaming(open_batch=True), (3,)),
}


@pytest.mark.parametrize("name", FILES)
def test_every_example_begins_from_the_initial_state(name, rng):
    (content, scores), shape = FILES[name]
    x = rng.normal(size=(11, *shape)).astype("float32")
    order = rng.integers(0, 11, 30)  # a permutation with repetitions
    classes, probabilities = predict(content, x)
    np.testing.assert_array_equal(classes[:, 0], scores(x).argmax(axis=1))
    again = predict(content, x)
    assert again.probabilities.tobytes() == probabilities.tobytes()
    moved = predict(content, x[order], batch_size=7)
    np.testing.assert_array_equal(moved.classes, classes[order])
    np.testing.assert_allclose(moved.probabilities, probabilities[order], rtol=1e-6)
