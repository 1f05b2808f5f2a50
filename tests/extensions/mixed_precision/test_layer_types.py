"""Types of layers: the loss of the worst class, and the steps that avoid most of it per bit."""

import itertools

import keras
import numpy as np
import pandas as pd
import pytest
from keras import layers
from numpy.testing import assert_allclose
from scipy.stats import entropy

from tests.builders.kinds import HAS_QUANTIZER
from tests.builders.stacks import stack
from tfaudit.extensions.mixed_precision.layer_types import class_divergence, layer_types
from tfaudit.extensions.mixed_precision.sensitivity import quantization_sensitivity
from tfaudit.predictions import Predictions

BITS = {"": 4, "int8": 8, "float16": 16}


def test_the_class_divergence_is_the_largest_mean_of_scipys_entropy(rng):
    labels = rng.integers(0, 4, 200)
    before, after = (rng.dirichlet(np.ones(4), 200) for _ in range(2))
    expected = pd.Series(entropy(before, after, axis=1)).groupby(labels).mean().max()
    pair = [Predictions.from_scores(labels, scores, k=4) for scores in (before, after)]
    assert_allclose(class_divergence(*pair), expected, rtol=1e-3)


def test_classes_of_few_examples_count_together(rng):
    labels = np.arange(50)
    before, after = (rng.dirichlet(np.ones(50), 50) for _ in range(2))
    pair = [Predictions.from_scores(labels, scores, k=50) for scores in (before, after)]
    expected = entropy(before, after, axis=1).mean()
    assert_allclose(class_divergence(*pair), expected, rtol=1e-2)


def test_no_other_types_of_these_bits_avoid_more(rng):
    """With layers of equal size and one step each, the best choice is that of all that avoids most."""
    names = list("abcd")
    weights = dict.fromkeys(names, 10)
    losses = {name: (gain, 0) for name, gain in zip(names, rng.uniform(0.1, 1, 4), strict=True)}
    found = layer_types(weights, losses, 6)
    best = max(itertools.combinations(names, 2), key=lambda two: sum(losses[one][0] for one in two))
    assert found == dict.fromkeys(sorted(best, key=lambda one: -losses[one][0]), "int8")


@pytest.mark.parametrize("bits", [4, 4.5, 5, 8, 16])
def test_the_mean_bits_are_kept(rng, bits):
    names = [f"layer{number}" for number in range(12)]
    weights = {name: int(rng.integers(1, 1000)) for name in names}
    losses = {name: rng.uniform(-0.2, 1, 2) for name in names}
    types = layer_types(weights, losses, bits)
    used = sum(BITS[types.get(name, "")] * weights[name] for name in names)
    assert used <= bits * sum(weights.values())
    assert all(losses[name][0] > 0 for name in types)
    assert all(losses[name][1] > 0 for name in types if types[name] == "float16")
    assert not types or bits > 4


@pytest.mark.slow
@pytest.mark.skipif(not HAS_QUANTIZER, reason="litert-quantizer is missing")
def test_the_layer_that_int4_ruins_comes_first(rng):
    """A kernel whose one large weight belongs to an input that is always zero leaves no steps for the others."""
    keras.utils.set_random_seed(0)
    model = stack(
        (8,),
        layers.Dense(8, kernel_initializer="identity", name="fine"),
        layers.Reshape((8,)),
        layers.Dense(4, name="ruined"),
    )
    kernel = np.zeros((8, 4), np.float32)
    kernel[:4] = np.eye(4)
    kernel[7] = 40  # an eighth of a step of int4
    model.get_layer("ruined").set_weights([kernel, np.zeros(4)])
    x = np.zeros((200, 8), np.float32)
    x[:, :4] = rng.normal(size=(200, 4))
    data = x, x[:, :4].argmax(axis=1)
    alone = quantization_sensitivity(
        model, data, representative=x[:20], kind="int4", mode="only_one", progress=False
    )
    table = alone.frame().set_index("layer")
    assert table.loc["ruined", "class_divergence"] > 0.2 > table.loc["fine", "class_divergence"]
    assert alone.summary()["first_layer"] == "ruined"
    sensitivity = quantization_sensitivity(
        model, data, representative=x[:20], kind="int4", progress=False
    ).frame()
    assert sensitivity["layer"][0] == "ruined"
    assert sensitivity["negative_flips"][0] < sensitivity["negative_flips"][1]
