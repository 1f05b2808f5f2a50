"""Models of the user's own as members: what is called with what, initial weights, and what does not fit."""

import dataclasses

import keras
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.builders.own_code import write_own
from tests.builders.refusals import assert_refused
from tests.builders.stacks import stack
from tfaudit import Study, Training, load_dataset
from tfaudit.models.member_model import (
    build_member,
    check_outputs,
    check_seeds,
    gives_probabilities,
)
from tfaudit.models.pretrained import copied


def study_of(folder, code="", **settings):
    path = write_own(folder, more=code)
    settings = {"model": f"{path}:model" if code else f"{path}:build"} | settings
    return Study(name="s", dataset=f"{path}:load", training=Training(epochs=1), **settings)


def built(study, seed=0):
    data = load_dataset(study.dataset, "train")
    model = build_member(study, data, seed)
    check_outputs(model, data, "the model")
    return model


def test_a_function_gets_what_it_asks_for(tmp_path):
    code = """
def model(num_classes, seed, units):
    initial = keras.initializers.Constant(seed)
    last = keras.layers.Dense(num_classes, bias_initializer=initial)
    return keras.Sequential([keras.Input((5,)), keras.layers.Dense(units), last])
"""
    model = built(study_of(tmp_path, code, model_options={"units": 7}), seed=4)
    assert model.layers[0].units == 7
    assert model.layers[1].bias.numpy().tolist() == [4, 4, 4]


def test_seeds_decide_the_weights_and_precision_the_types(tmp_path):
    study = study_of(tmp_path)
    same, again, other = (built(study, seed).get_weights()[0] for seed in (1, 1, 2))
    assert_array_equal(same, again)
    assert (same != other).any()
    mixed = dataclasses.replace(study, training=Training(epochs=1, precision="mixed_bfloat16"))
    assert built(mixed).layers[0].compute_dtype == "bfloat16"
    assert keras.config.dtype_policy().name == "float32"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "def model(classes):\n    pass",
            r"got model\(classes\) of '.*own.py:model' \(missing .* 'classes'\), expected",
        ),
        (
            "def model():\n    return 3",
            r"model: got int, expected a Keras 3 model from 'own.py:model'",
        ),
        (
            "def model():\n    return keras.Sequential([keras.layers.Dense(3)])",
            "whose model has layers without weights yet, ex",
        ),
        (
            "def model():\n    return keras.layers.Dense(0)",
            "which failed .ValueError: .*, line 51 of own.py",
        ),
        (
            "def model():\n    return keras.Sequential([keras.Input((5,)), keras.layers.Dense(7)])",
            r"gives scores of shape \(2, 7\) for 2 examples of '.*:load', expected 3 scores per example: classes are",
        ),
        (
            "def model():\n    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])",
            r"which cannot take the examples of '.*:load' \(ValueError: .*, expected a model for inputs of shape \(5,",
        ),
        (
            "def model():\n    x = keras.Input((5,))\n    return keras.Model(x, [keras.layers.Dense(3)(x)] * 2)",
            "with several outputs, expected one output",
        ),
    ],
)
def test_models_that_do_not_fit_are_one_clear_line(tmp_path, code, message):
    assert_refused(message, built, study_of(tmp_path, code))


def test_a_model_in_place_of_its_function_is_one_clear_line():
    model = stack((5,), keras.layers.Dense(3))
    assert_refused(
        r"model: got a Sequential of keras, expected a name, the path of a .keras file",
        Study,
        name="s",
        dataset="digits",
        model=model,
        training=Training(epochs=1),
    )


def test_whether_outputs_are_probabilities_is_seen_in_layers_or_scores(tmp_path):
    data = load_dataset(f"{write_own(tmp_path)}:load", "train")

    class Ends(keras.Model):
        def __init__(self, end):
            super().__init__()
            self.dense, self.end = keras.layers.Dense(3), end

        def call(self, x):
            return self.end(self.dense(x))

    for end, expected in ((keras.ops.softmax, True), (lambda x: 3 * x, False)):
        model = Ends(end)
        model(data.head(2))
        assert gives_probabilities(model, data) is expected


def test_fresh_weights_are_new_but_for_frozen_and_adapted_layers():
    layers = [
        keras.layers.Normalization(),
        keras.layers.Dense(4, name="frozen"),
        keras.layers.Dense(4, name="new"),
    ]
    layers[0].adapt(np.arange(12.0).reshape(4, 3))
    model = stack((3,), *layers)
    model.get_layer("frozen").trainable = False
    first, second = copied(model, fresh=True), copied(model, fresh=True)
    for copy in (first, second):
        assert_array_equal(copy.layers[0].mean, model.layers[0].mean)
        assert_array_equal(copy.get_layer("frozen").kernel, model.get_layer("frozen").kernel)
    kernels = [each.get_layer("new").kernel.numpy() for each in (model, first, second)]
    assert (kernels[0] != kernels[1]).any()
    assert (kernels[1] != kernels[2]).any()


def test_a_file_computes_in_the_precision_of_the_training(tmp_path):
    inner = stack((8,), keras.layers.Dense(4, name="inner"), name="part")
    layers = [
        keras.layers.Flatten(),
        keras.layers.Dense(8, name="first"),
        inner,
        keras.layers.Dense(10, name="last"),
    ]
    stack((8, 8, 1), *layers).save(tmp_path / "net.keras")
    saved = keras.saving.load_model(tmp_path / "net.keras")
    for initialise in ("file", "fresh"):
        training = Training(epochs=1, precision="mixed_bfloat16")
        settings = {
            "dataset": "digits",
            "model": str(tmp_path / "net.keras"),
            "initialise": initialise,
        }
        model = built(Study(name="s", training=training, **settings))
        compute = {
            layer.name: layer.compute_dtype for layer in model._flatten_layers() if layer.weights
        }
        assert compute.pop("last") == "float32"
        assert {compute[name] for name in ("first", "inner")} == {"bfloat16"}
        assert {weight.dtype for weight in model.weights} == {"float32"}
        equal = [
            np.array_equal(a, b)
            for a, b in zip(model.get_weights(), saved.get_weights(), strict=True)
        ]
        assert all(equal) is (initialise == "file")
    assert keras.config.dtype_policy().name == "float32"


SEEDED = """
def model(input_shape, num_classes):
    draw = keras.initializers.GlorotUniform(seed=7)
    return keras.Sequential([keras.Input(input_shape), keras.layers.Dense(num_classes, kernel_initializer=draw)])
"""


def test_members_that_would_start_from_the_same_weights_are_refused_unless_that_is_meant(tmp_path):
    study = study_of(tmp_path, SEEDED)
    data = load_dataset(study.dataset, "train")
    model = build_member(study, data, 0)
    assert_refused(
        r"model: got 'own.py:model', .* same initial weights, .*initialise='same'",
        check_seeds,
        study,
        data,
        model,
    )
    model.save(tmp_path / "net.keras")
    of_file = dataclasses.replace(study, model=str(tmp_path / "net.keras"), initialise="fresh")
    assert_refused(
        r"model: got 'net.keras', .* the same initial weights, .*initialise='file'",
        check_seeds,
        of_file,
        data,
        build_member(of_file, data, 0),
    )
    for meant in ({"initialise": "same"}, {"population": 1}, {"training": Training(epochs=0)}):
        check_seeds(dataclasses.replace(study, **meant), data, model)
    drawn = study_of(tmp_path)
    check_seeds(drawn, data, build_member(drawn, data, 0))
    assert_refused(
        r"initialise: got 'same', expected 'fresh' or 'file' for a .keras file",
        dataclasses.replace,
        of_file,
        initialise="same",
    )
