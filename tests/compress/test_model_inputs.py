"""Inputs of models: each array reaches the input that it is meant for, or is refused in one line."""

import itertools

import numpy as np
import pytest

from tests.builders.refusals import assert_refused
from tfaudit.compress.model_inputs import Input, as_inputs, file_names, places, plain_names

FLOATS, INTEGERS = np.dtype("float32"), np.dtype("int32")


def inputs(*names, dtypes=(FLOATS,) * 9, sides=(2,) * 9):
    return [
        Input(name, (side,), dtype) for name, dtype, side in zip(names, dtypes, sides, strict=False)
    ]


def arrays(count, dtype=float, side=2):
    """Arrays full of their own number."""
    return [np.full((3, side), number, dtype) for number in range(count)]


def order(values, sources, **options):
    return [int(array[0, 0]) for array in as_inputs(values, sources, **options)]


@pytest.mark.parametrize(
    "names",
    [("a", "b", "a_1"), ("input_2", "input_1"), ("input_1:0", "input_2:0"), ("input_1_x", "input_2_x"),
     ("x-1", "x_2"), ("serving_default_a:0", "a")],
)  # fmt: skip
def test_names_that_are_alike_stay_apart(names):
    """`input_1:0` and `input_2:0` were both stripped to `0`, and got one array."""
    for permuted in itertools.permutations(range(len(names))):
        given = {names[place]: np.full((3, 2), place) for place in permuted}
        file = file_names(names, ordered=True)
        wanted = [*range(len(names))]
        for known in (names, file, file_names(names, ordered=False), plain_names(names)):
            assert order(given, inputs(*known)) == wanted
        assert order(dict(zip(file, given.values(), strict=True)), inputs(*file)) == [*permuted]


def test_only_the_places_of_every_input_are_an_order():
    assert places(["input_3_of_3_a", "input_1_of_3_b", "input_2_of_3_a"]) == [3, 1, 2]
    for names in (
        ["input_1_of_2_a"],
        ["input_1_of_2_a", "input_1_of_2_b"],
        ["input_1_of_2_a", "b"],
        ["input_0_a", "input_1_b"],
    ):
        assert places(names) is None
        assert plain_names(names) == names


def test_a_tuple_is_taken_in_the_model_s_order_or_in_the_only_possible_one():
    queries = inputs("doc", "query")
    assert order(tuple(arrays(2)), queries) == order(arrays(2), queries) == [0, 1]
    unlike = inputs("a", "b", "c", sides=(2, 2, 4), dtypes=(INTEGERS, FLOATS, FLOATS))
    values = (np.ones((3, 4)), np.zeros((3, 2)), np.full((3, 2), 2))
    assert order(values, unlike, ordered=False) == [2, 0, 1]
    for ambiguous in (values[:1] * 3, (values[0], values[2], values[2])):
        assert_refused(
            "images: got a tuple for a model that does not tell the order of its inputs, "
            "expected a dictionary of the inputs a, b, c",
            as_inputs,
            ambiguous,
            unlike,
            ordered=False,
        )
    assert order({"b": values[1], "c": values[0], "a": values[2]}, unlike, ordered=False) == [
        2,
        0,
        1,
    ]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"query": 1, "docs": 2}, "got inputs query, docs, expected inputs query, doc$"),
        ({"quer-y": 1, "quer_y": 2}, "got inputs quer-y, quer_y, expected inputs query, doc$"),
        ((np.ones(3),), "got 1 inputs, expected 2: query, doc$"),
        (np.ones((3, 2)), "got one array, expected a dictionary, or a tuple, of the inputs query"),
        ((np.ones((3, 2)), np.ones((3, 4))), r"images, doc: got shape \(3, 4\)"),
        ((np.ones((3, 2)), np.ones((2, 2))), "images: got 3 of 'query', 2 of 'doc'"),
    ],
)
def test_wrong_names_counts_and_shapes_get_one_line(values, message):
    for names in (["query", "doc"], file_names(["query", "doc"], ordered=True)):
        assert_refused(message, as_inputs, values, inputs(*names))
