"""What `predict` promises for every kind of model: the same call gives the same bits, and order changes no answer."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers
from numpy.testing import assert_allclose, assert_array_equal

from tests.builders.flatbuffers import drawing, lstm, several_signatures, streaming, svdf
from tests.builders.refusals import assert_refused
from tfaudit.compress.kept_state import recurrent_states
from tfaudit.compress.litert.conversions import Conversions
from tfaudit.compress.litert.inference import predict

EXAMPLES = 11
DRAWS = np.random.default_rng(0)
SERIES = DRAWS.normal(size=(EXAMPLES, 5, 3)).astype("float32")
ROWS = DRAWS.normal(size=(EXAMPLES, 3)).astype("float32")
PAIRS = ROWS[:, :2]
BY_HAND = {
    "an LSTM for one example": (lstm(), SERIES),
    "an LSTM for batches of four": (lstm(4), SERIES),
    "an LSTM with an open batch": (lstm(open_batch=True), SERIES),
    "SVDF": (svdf(), ROWS),
    "SVDF for batches of two": (svdf(2), ROWS),
    "a variable": (streaming(), ROWS),
    "a variable that a batch shares": (streaming(3), ROWS),
    "a variable and an open batch": (streaming(open_batch=True), ROWS),
    "one signature of several": (
        (several_signatures("train", "swap"), lambda x: x[:, ::-1]),
        PAIRS,
    ),
}


def require_order_does_not_matter(model, x):
    first = predict(model, x)
    assert predict(model, x).probabilities.tobytes() == first.probabilities.tobytes()
    order = DRAWS.integers(0, len(x), 3 * len(x))  # a permutation with repetitions
    moved = predict(model, x[order], batch_size=7)
    assert_array_equal(moved.classes, first.classes[order])
    assert_allclose(moved.probabilities, first.probabilities[order], rtol=1e-5)
    return first.classes[:, 0]


@pytest.mark.parametrize("name", BY_HAND)
def test_a_file_that_keeps_a_state_begins_every_example_anew(name):
    (content, scores), x = BY_HAND[name]
    classes = require_order_does_not_matter(content, x)
    assert_array_equal(classes, scores(x).argmax(axis=1))


def network(layer, **batch):
    keras.utils.set_random_seed(0)
    return keras.Sequential(
        [keras.Input((5, 3), **batch), layer, layers.Flatten(), layers.Dense(3)]
    )


def test_a_keras_model_and_its_files_of_every_kind():
    model = network(layers.Conv1D(4, 2))
    require_order_does_not_matter(model, SERIES)
    files = Conversions(model, representative=SERIES)
    for kind in ("float32", "float16", "dynamic_range", "int8"):
        require_order_does_not_matter(files.file(kind), SERIES)


def test_stateful_layers_begin_anew_and_keep_the_state_of_their_user():
    def recurrent(**settings):
        return layers.Bidirectional(layers.SimpleRNN(3, unroll=True, **settings))

    model = network(recurrent(stateful=True), batch_size=2)
    model(SERIES[:2])
    states = [state.numpy() for state in recurrent_states(model)]
    assert all(state.any() for state in states)
    twin = network(recurrent())
    twin.set_weights([weight.numpy() for weight in model.trainable_weights])
    expected = predict(twin, SERIES).classes[:, 0]
    for form in (model, Conversions(model).file("float32")):
        assert_array_equal(require_order_does_not_matter(form, SERIES), expected)
    for state, before in zip(recurrent_states(model), states, strict=True):
        assert_array_equal(state.numpy(), before)


class Calling(layers.Layer):
    """A layer that calls a function of itself and its inputs."""

    def __init__(self, function):
        super().__init__()
        self.function, self.dropout = function, layers.Dropout(0.5)
        self.normalization = layers.BatchNormalization()

    def build(self, shape):
        self.count = tf.Variable(0.0)
        self.normalization.build(shape)

    def call(self, x):
        return self.function(self, x)


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (lambda layer, x: layer.dropout(x, training=True), "dropout"),
        (
            lambda layer, x: layer.normalization(x, training=True),
            "batch_normalization.*moving_mean",
        ),
        (lambda layer, x: x + keras.random.normal(keras.ops.shape(x), seed=1), "random_normal"),
        (lambda layer, x: x * layer.count.assign_add(1.0), "calling"),
        (
            lambda layer, x: tf.while_loop(
                lambda i, x: i < 1, lambda i, x: (i + 1, tf.random.normal(tf.shape(x))), (0, x)
            )[1],
            "calling",
        ),
    ],
)
def test_a_model_that_changes_from_call_to_call_is_refused_in_one_line(function, named):
    line = f"^model: got a model that draws random numbers or writes variables in inference mode: .*{named}"
    assert_refused(line, predict, network(Calling(function)), SERIES)
    assert_refused(
        r"model: got a flatbuffer that draws random numbers \(RANDOM_UNIFORM\)",
        predict,
        drawing(),
        ROWS,
    )


def test_augmentation_that_draws_numbers_and_does_not_use_them_is_no_matter():
    x = DRAWS.random((4, 6, 6, 3), np.float32)
    stack = [keras.Input((6, 6, 3)), layers.RandomGrayscale(0.5), layers.Flatten(), layers.Dense(3)]
    require_order_does_not_matter(keras.Sequential(stack), x)
