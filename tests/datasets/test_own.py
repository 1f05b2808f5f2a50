"""Data sets of the user's own: what a function may return, what it may not, and what people see of an example."""

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from numpy.testing import assert_array_equal

from tests.builders.own_code import write_own
from tests.builders.refusals import assert_refused
from tfaudit import Examples, load_dataset
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.examples import as_dataset, read_examples
from tfaudit.datasets.pipeline import training_batches
from tfaudit.datasets.preview import previews

X, Y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 2, 0, 1, 2])
TABLE = {"age": np.arange(6), "text": np.array(list("abcdef"))}


@pytest.mark.parametrize(
    "returned",
    [
        (X, Y),
        (X.tolist(), Y.tolist()),
        (X, np.eye(3)[Y], {"side": list("llrrll")}),
        (X, Y.astype(float)[:, None]),
        tf.data.Dataset.from_tensor_slices((X, Y)),
        tf.data.Dataset.from_tensor_slices((X, np.eye(3)[Y])),
        tf.data.Dataset.from_tensor_slices((X, Y)).batch(4),
        tf.data.Dataset.from_tensor_slices((X, np.eye(3)[Y])).batch(3, drop_remainder=True),
        Examples(X, Y),
    ],
)
def test_forms_of_the_same_examples(returned):
    examples = read_examples(returned, "own")
    assert_array_equal(examples.x, X)
    assert_array_equal(examples.labels, Y)
    assert examples.ids.tolist() == list("012345")


@pytest.mark.parametrize(
    "returned",
    [
        (TABLE, Y),
        (pd.DataFrame(TABLE), Y),
        tf.data.Dataset.from_tensor_slices((TABLE, Y)),
        tf.data.Dataset.from_tensor_slices((TABLE, Y)).batch(4),
    ],
)
def test_dictionaries_and_text_keep_their_structure(returned):
    x = read_examples(returned, "own").x
    assert {name: values.tolist() for name, values in x.items()} == {
        "age": [0, 1, 2, 3, 4, 5],
        "text": [*"abcdef"],
    }


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (
            None,
            r"dataset: got a NoneType from own, expected \(x, y\), \(x, y, weights\), a tf.data.Dataset or batches",
        ),
        ((X, Y[:5]), "got 6 in x, 5 in y from own, expected as many examples in all"),
        (({"a": X, "b": X[:2]}, Y), r"got 6 in x\['a'\], 2 in x\['b'\], 6 in y"),
        ((X[:0], Y[:0]), "got no examples from own"),
        (tf.data.Dataset.from_tensor_slices((X, Y)).take(0), "got nothing from own"),
        (
            tf.data.Dataset.from_tensor_slices((X, Y)).repeat(),
            "got an endless tf.data.Dataset, expected one with a length",
        ),
        (
            tf.data.Dataset.from_tensor_slices(X),
            "got a tf.data.Dataset of other elements from own, expected pairs",
        ),
        (
            (X, list("abcabc")),
            "got labels of text from own, expected integers 0..C-1, and class_names of C texts",
        ),
        ((X, Y + 0.5), "got fractions as labels, shape"),
        ((X, np.ones((6, 3))), "got several labels per example, shape"),
        ((X * np.nan, Y), "got NaN or infinity in x from own"),
        (
            ([[1], [1, 2], [1], [1], [1], [1]], Y),
            "got values that form no array of numbers or text",
        ),
        ((X, Y, {"side": ["l"]}), r"got \(1,\) values in group 'side' from own, expected 6"),
        (Examples(X, Y, ids=["a"] * 6), "got 6 ids, 1 of them different, from own"),
        (
            (X, Y, list("llrrll")),
            r"got text as weights from own, expected sample weights \(6,\), .* groups have names",
        ),
        ((X, Y, Y - 1), "got weights from -1 to 1 from own"),
        ((X, Y, np.zeros(6)), "got weights from 0 to 0 from own"),
        (Examples(X, Y, list("llrrll")), "got groups without names from own, expected groups={"),
    ],
)
def test_what_is_no_data_set_is_one_clear_line(returned, message):
    assert_refused(message, read_examples, returned, "own")


WEIGHTS = np.array([1, 0, 2, 1, 1, 0.5])


@pytest.mark.parametrize(
    "returned",
    [
        (X, Y, WEIGHTS),
        (X, Y, WEIGHTS[:, None]),
        tf.data.Dataset.from_tensor_slices((X, Y, WEIGHTS)),
        tf.data.Dataset.from_tensor_slices((X, Y, WEIGHTS)).batch(4),
        [(X[:4], Y[:4], WEIGHTS[:4]), (X[4:], Y[4:], WEIGHTS[4:])],
        Examples(X, Y, weights=WEIGHTS),
    ],
)
def test_a_third_element_is_weights(returned):
    data = as_dataset(returned, "own", "train")
    assert not data.known_groups
    for rows in (data, data.take(4), data.select(np.array([5, 2]), split="train")):
        assert_array_equal(rows.weights, WEIGHTS[rows.example_ids.astype(int)])
    ordered = [*data.batches(4, weights=True).as_numpy_iterator()]
    assert_array_equal(np.concatenate([w for _, _, w in ordered]), WEIGHTS)
    x, _, weights = next(iter(training_batches(data, batch_size=6, seed=0, weights=True)))
    assert_array_equal(weights, WEIGHTS[(x[:, 0] // 2).numpy().astype(int)])
    assert len(next(iter(training_batches(data, batch_size=6, seed=0)))) == 2


@pytest.mark.parametrize("third", [{"side": list("llrrll")}, pd.DataFrame({"side": [*"llrrll"]})])
def test_a_third_element_with_names_is_groups(third):
    data = as_dataset((X, Y, third), "own", "train")
    assert data.weights is None
    assert data.groups["side"].tolist() == list("llrrll")
    stream = tf.data.Dataset.from_tensor_slices((X, Y, {"side": list("llrrll")}))
    assert as_dataset(stream, "own", "train").groups["side"].tolist() == list("llrrll")


def own(tmp_path, code):
    write_own(tmp_path, more=code)
    return f"{tmp_path}/own.py:data"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "def data():\n    pass",
            r"got data\(\) of '.*own.py:data' \(too many positional arguments\), expected .* load\(split\)",
        ),
        (
            "def data(split):\n    return open(split)",
            r"which failed \(FileNotFoundError: .*, line \d+ of own.py\)",
        ),
        (
            "def data(split):\n    return np.ones((4, 2 + (split == 'test'))), [0, 1, 0, 1]",
            r"got x \(3,\) of float64 from .*",
        ),
        (
            "def data(split):\n    return np.ones((2, 2)), [1, 2]",
            "got labels up to 2, but no 0, from",
        ),
        ("def data(split):\n    return np.ones((2, 2)), [0, 0]", "got 1 classes from"),
        (
            "def data(split):\n    return tfaudit.Examples(np.ones((2, 2)), [0, 2], class_names=['a', 'b'])",
            "got labels from 0 to 2 from .*, expected 0 to 1, the positions of 2 class names",
        ),
    ],
)
def test_functions_that_cannot_be_used_are_one_clear_line(tmp_path, code, message):
    assert_refused(message, load_dataset, own(tmp_path, code), "train")


def test_batches_of_a_structure_show_every_example_once_an_epoch(tmp_path):
    code = """
def data(split):
    return {'n': np.arange(10), 't': (np.arange(10) * 2, np.array([*'abcdefghij']))}, [0, 1] * 5
"""
    dataset = load_dataset(own(tmp_path, code), "train")
    seen = [*training_batches(dataset, batch_size=4, seed=3).take(3).as_numpy_iterator()]
    numbers = np.concatenate([x["n"] for x, _ in seen])
    assert sorted(numbers) == list(range(10))
    assert_array_equal(np.concatenate([x["t"][0] for x, _ in seen]), 2 * numbers)
    assert b"".join(np.concatenate([x["t"][1] for x, _ in seen])).decode() == "".join(
        "abcdefghij"[i] for i in numbers
    )
    assert_array_equal(np.concatenate([y for _, y in seen]), numbers % 2)
    again = [*training_batches(dataset, batch_size=4, seed=3).take(3).as_numpy_iterator()]
    assert_array_equal(again[0][0]["n"], seen[0][0]["n"])
    (x, y), *_ = dataset.batches(7).as_numpy_iterator()
    assert (x["n"].tolist(), y.tolist()) == (list(range(7)), [0, 1, 0, 1, 0, 1, 0])
    assert_refused("whose examples are no images", dataset.moments)


@pytest.mark.parametrize(
    ("preview", "x", "expected"),
    [
        (None, np.array(["so kind", "never"]), ["so kind", "never"]),
        (
            None,
            {"age": np.array([3, 5]), "share": np.array([0.25, 1 / 3])},
            ["age: 3\nshare: 0.25", "age: 5\nshare: 0.333333"],
        ),
        (None, np.ones((2, 3)), ["", ""]),
        (["one", "two"], np.ones((2, 3)), ["one", "two"]),
        (lambda x: f"{x.sum():g}", np.ones((2, 3)), ["3", "3"]),
        (lambda x: np.zeros((1, 2), np.uint8), np.ones((2, 3)), np.zeros((2, 1, 2, 1))),
    ],
)
def test_previews(preview, x, expected):
    dataset = Dataset("d", "test", ("a", "b"), (None,) * 3, 2, inputs=x, preview=preview)
    assert_array_equal(list(previews(dataset, 64)), expected)


def test_what_is_no_preview():
    facts = {"inputs": np.ones((1, 3)), "preview": lambda x: 0.5}
    shown = previews(Dataset("d", "test", ("a",), (None,) * 3, 1, **facts), 64)
    message = r"preview: got a float of float64, shape \(\), for example 0, expected a text"
    assert_refused(message, next, shown)
