"""The last layers of a model: those that stay in float are what the scores are computed by, and no more."""

import itertools

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import layers

from tests.builders.nightly import first_and_nightly
from tests.builders.operators import operators
from tests.builders.stacks import stack
from tfaudit.compress.last_layers import last_layers
from tfaudit.compress.litert.quantize import quantize
from tfaudit.errors import InputError

SHAPE = (6, 6, 2)
IMAGES = np.random.default_rng(0).random((20, *SHAPE), np.float32)


def body():
    return [
        keras.Input(SHAPE),
        layers.Conv2D(4, 3, activation="relu", name="conv"),
        layers.Flatten(name="flat"),
        layers.Dense(6, activation="relu", name="dense"),
    ]


def sequential():
    return keras.Sequential([*body(), layers.Dense(3, name="logits")])


def with_softmax_inside():
    return keras.Sequential([*body(), layers.Dense(3, activation="softmax", name="logits")])


def with_a_function():
    inner = sequential()
    return keras.Model(inner.inputs, keras.ops.softmax(inner.outputs[0]))


def fully_convolutional():
    """As SqueezeNet: scores are means of the maps of the last convolution."""
    maps = [
        layers.Conv2D(3, 1, name="logits"),
        layers.BatchNormalization(name="norm"),
        layers.ReLU(name="relu"),
    ]
    return keras.Sequential([*body()[:2], *maps, layers.GlobalAveragePooling2D(name="pool")])


def nested_softmax():
    """The walk leaves a nested model without kernels by the input that it came from."""
    features = keras.Sequential(body())
    one, two = keras.Input((3,)), keras.Input((6,))
    head = keras.Model(
        [two, one], [layers.ReLU(name="unused")(two), layers.Softmax(name="soft")(one)]
    )
    logits = layers.Dense(3, name="logits")(features.outputs[0])
    return keras.Model(features.inputs, head([features.outputs[0], logits])[1])


def sum_of_two():
    inner = keras.Sequential(body())
    several = [layers.Dense(3, name=name)(inner.outputs[0]) for name in ("logits", "others")]
    return keras.Model(inner.inputs, layers.Add(name="add")(several))


def called_last():
    """A layer in the middle has the name that is also the word."""
    return keras.Sequential(
        [*body()[:-1], layers.Dense(6, name="last"), layers.Dense(3, name="logits")]
    )


def two_outputs():
    inner = keras.Sequential(body())
    features = inner.outputs[0]
    age = layers.Dense(1, name="age")(layers.Dense(5, activation="relu", name="hidden")(features))
    return keras.Model(inner.inputs, {"kind": layers.Dense(3, name="logits")(features), "age": age})


EXPECTED = {
    sequential: ("logits", "FULLY_CONNECTED"),
    with_softmax_inside: ("logits", "FULLY_CONNECTED SOFTMAX"),
    with_a_function: ("softmax logits", "FULLY_CONNECTED SOFTMAX"),
    fully_convolutional: ("pool relu norm logits", "CONV_2D MEAN"),
    nested_softmax: ("soft logits", "FULLY_CONNECTED SOFTMAX"),
    sum_of_two: ("add others logits", "FULLY_CONNECTED FULLY_CONNECTED ADD"),
    called_last: ("logits", "FULLY_CONNECTED"),
    two_outputs: ("age logits", "FULLY_CONNECTED FULLY_CONNECTED"),
}
"""The last layers, and the operators of the file that stay in float: all others are int8."""


@pytest.mark.parametrize("build", first_and_nightly(EXPECTED, 4), ids=lambda build: build.__name__)
def test_they_are_what_an_output_is_computed_from_back_to_the_first_kernel(build):
    names = [layer.name.rstrip("_0123456789") for layer in last_layers(build())]
    assert sorted(names) == sorted(EXPECTED[build][0].split())


def test_of_several_outputs_the_named_one_counts():
    model = two_outputs()
    assert [layer.name for layer in last_layers(model, "kind")] == ["logits"]
    assert [layer.name for layer in last_layers(model, "age")] == ["age"]


BEHIND = {
    "softmax": layers.Softmax,
    "relu": layers.ReLU,
    "tanh": lambda: layers.Activation("tanh"),
    "dropout": lambda: layers.Dropout(0.1),
    "norm": layers.BatchNormalization,
    "rescaling": lambda: layers.Rescaling(2.0),
    "reshape": lambda: layers.Reshape((3,)),
}
KERNELS = {"dense": lambda: layers.Dense(3), "einsum": lambda: layers.EinsumDense("ab,bc->ac", 3)}


@settings(max_examples=30)
@given(
    before=st.lists(st.sampled_from([*BEHIND, *KERNELS]), max_size=4),
    last=st.sampled_from([*KERNELS]),
    behind=st.lists(st.sampled_from([*BEHIND]), max_size=4),
    cuts=st.lists(st.integers(0, 9), max_size=3),
)
def test_nesting_changes_nothing(before, last, behind, cuts):
    """Whatever part of a chain is a model of its own, these are the last kernel and all that follows."""
    chain = [(BEHIND | KERNELS)[name]() for name in (*before, last, *behind)]
    edges = sorted({0, len(chain), *(cut % len(chain) for cut in cuts)})
    parts = [chain[i:j] for i, j in itertools.pairwise(edges)]
    model = stack((3,), *(stack((3,), *part) for part in parts))
    assert last_layers(model) == chain[len(before) :][::-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "build", first_and_nightly(EXPECTED, always=3), ids=lambda build: build.__name__
)
def test_they_stay_in_float_and_all_others_do_not(build):
    model = build()
    content = quantize(model, "int8", representative=IMAGES, float_layers="last")
    kinds = [
        (kind, dtype)
        for kind, dtype, _ in operators(content)
        if kind not in ("QUANTIZE", "DEQUANTIZE")
    ]
    assert [kind for kind, dtype in kinds if dtype == np.float32] == EXPECTED[build][1].split()
    assert ("CONV_2D", np.int8) in kinds
    assert all("call" not in vars(layer) for layer in last_layers(model))


@pytest.mark.slow
def test_only_the_layers_of_the_output_that_is_converted_stay_in_float():
    content = quantize(
        two_outputs(), "int8", representative=IMAGES, float_layers="last", output="age"
    )
    dense = [dtype for kind, dtype, _ in operators(content) if kind == "FULLY_CONNECTED"]
    assert dense == [np.int8, np.int8, np.float32]


@pytest.mark.slow
def test_in_a_list_the_word_is_the_name_of_a_layer():
    found = {
        word: [dtype.name for kind, dtype, _ in operators(content) if kind == "FULLY_CONNECTED"]
        for word, content in (
            (
                repr(names),
                quantize(called_last(), "int8", representative=IMAGES, float_layers=names),
            )
            for names in ("last", ["last"])
        )
    }
    assert found == {"'last'": ["int8", "float32"], "['last']": ["float32", "int8"]}


class Own(keras.Model):
    def __init__(self):
        super().__init__(name="own")
        self.dense = layers.Dense(3)

    def call(self, inputs):
        return self.dense(inputs)


def built(model):
    model(np.zeros((1, 4), np.float32))
    return model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: built(Own()), "'last' for 'own', a subclassed model"),
        (
            lambda: stack((4,), layers.BatchNormalization(), name="net"),
            "'last' for 'net', which has no layer with a kernel",
        ),
    ],
    ids=["subclassed", "no kernel"],
)
def test_a_model_without_last_layers_is_refused(model, message):
    with pytest.raises(InputError) as caught:
        quantize(model(), "int8", representative=np.eye(4, dtype=np.float32), float_layers="last")
    assert str(caught.value) == f"float_layers: got {message}, expected names of layers"
