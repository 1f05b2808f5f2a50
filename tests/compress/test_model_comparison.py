"""One call from models to an audit equals the steps by hand."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_array_equal

from tests.builders.refusals import assert_refused
from tests.builders.stacks import stack
from tfaudit import (
    Limits,
    Predictions,
    compare,
    compare_models,
    gate,
    gate_models,
    predict,
    quantize,
)
from tfaudit.compress.model_comparison import predictions_of
from tfaudit.datasets.loading import load_dataset

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(90, 6)).astype("float32"), RNG.integers(0, 4, 90)


def linear(units=4, seed=0):
    keras.utils.set_random_seed(seed)
    return stack((6,), keras.layers.Dense(units))


@pytest.fixture(scope="module")
def models():
    model = linear()
    return model, {"dynamic": quantize(model, "dynamic_range"), "other": linear(seed=1)}


@pytest.mark.slow
def test_comparisons_equal_those_by_hand(models):
    baseline, compressed = models
    pairs = compare_models(baseline, compressed, (X, Y), alpha=0.1)
    assert list(pairs) == ["dynamic", "other"]
    before = Predictions(Y, predict(baseline, X))
    for name, model in compressed.items():
        expected = compare(before, Predictions(Y, predict(model, X)), alpha=0.1)
        assert pairs[name].frame().equals(expected.frame())
        assert str(pairs[name].overall) == str(expected.overall)  # NaN is equal to itself as text


def test_every_form_of_data(models):
    baseline, compressed = models
    expected = str(compare_models(baseline, compressed, (X, Y))["other"].overall)
    stream = tf.data.Dataset.from_tensor_slices((X, Y)).batch(32)
    for data in (stream, (X, np.eye(4)[Y]), (X, Y, {"group": Y})):
        assert str(compare_models(baseline, compressed, data)["other"].overall) == expected
    digits = load_dataset("digits", "test")
    model = stack((8, 8, 1), keras.layers.Flatten(), keras.layers.Dense(10))
    found = predictions_of({"a": model}, digits)["a"]
    assert found.class_names == digits.class_names
    assert_array_equal(found.ranked[0], predict(model, digits.images).classes)


def test_the_gate_knows_the_sizes_of_files(models, tmp_path):
    baseline, compressed = models
    baseline.save(tmp_path / "model.keras")
    (tmp_path / "small.tflite").write_bytes(compressed["dynamic"])
    labels = predict(baseline, X).classes[:, 0]
    limits = Limits(overall_drop_pp=20, size_ratio=0.9)
    verdict = gate_models(
        tmp_path / "model.keras", {"small": tmp_path / "small.tflite"}, (X, labels), limits
    )["small"]
    sizes = tuple((tmp_path / name).stat().st_size for name in ("model.keras", "small.tflite"))
    before, after = (
        Predictions(labels, predict(model, X)) for model in (baseline, compressed["dynamic"])
    )
    assert verdict.frame().equals(gate(before, after, limits, sizes=sizes).frame())


@pytest.mark.parametrize(
    ("compressed", "data", "words"),
    [
        (
            b"TFL3",
            (X, Y),
            r'compressed: got bytes, expected models by name, such as \{"int8": flatbuffer\}',
        ),
        ({}, (X, Y), "compressed: got none, expected models by name"),
        ({"wide": 5}, (X, Y), "wide: model: got int, expected a Keras 3 model"),
        (
            {"wide": linear(5)},
            (X, Y),
            "models: got numbers of classes 4 of 'baseline', 5 of 'wide', expected the same",
        ),
        (
            {"same": linear()},
            (X, Y + 3),
            "data: got 6, expected labels 0 to 3, the models' classes",
        ),
        (
            {"same": linear()},
            (X[:, :3], Y),
            r"baseline: images: got shape \(1, 3\), expected \(N, 6\)",
        ),
        ({"same": linear()}, X, "data: got a ndarray from data, expected"),
    ],
)
def test_what_does_not_fit_is_one_line(models, compressed, data, words):
    assert_refused(words, compare_models, models[0], compressed, data)


def test_models_in_the_place_of_predictions(models):
    for function in (compare, lambda *pair: gate(*pair, Limits(flips=0.1))):
        assert_refused(
            r"baseline: got Sequential, expected .* compare_models and gate_models",
            function,
            models[0],
            b"TFL3",
        )


def test_repeated_examples_decide_nothing(models):
    """90 examples cannot judge, and neither can the same 90 thirty times."""
    baseline, _ = models
    labels = np.where(np.arange(90) < 85, predict(baseline, X).classes[:, 0], 0)
    limits = Limits(overall_drop_pp=3)
    once, often = (np.tile(X, (times, 1)) for times in (1, 30))
    told = np.tile(labels, 30)
    verdicts = [
        gate_models(baseline, {"same": baseline}, data, limits)["same"]
        for data in ((once, labels), (often, told))
    ]
    assert [verdict.outcome for verdict in verdicts] == ["cannot judge"] * 2
    assert verdicts[1].notes[:2] == (
        "Intervals are over 90 clusters of the 2,700 examples, not over single ones.",
        "2,610 of the 2,700 examples are exact copies of others: copies count once.",
    )
    by_hand = Predictions(told, predict(baseline, often))
    assert gate(by_hand, by_hand, limits).outcome == "cannot judge"
    assert compare(by_hand, by_hand).notes[1] == verdicts[1].notes[1]
    assert by_hand.clustered(None).clusters is None
