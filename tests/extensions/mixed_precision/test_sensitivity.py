"""quantization_sensitivity: its rows are what `quantize` and `compare_models` give for each layer."""

import json

import keras
import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter
from keras import layers

from tests.builders.operators import operators
from tests.builders.refusals import assert_refused
from tests.builders.stacks import stack
from tfaudit.compress.litert.conversions import Conversions
from tfaudit.compress.litert.quantize import quantize
from tfaudit.compress.model_comparison import compare_models
from tfaudit.extensions.mixed_precision.model_explorer import node_data
from tfaudit.extensions.mixed_precision.sensitivity import quantization_sensitivity

RNG = np.random.default_rng(0)
X = RNG.random((400, 6, 6, 1), np.float32)


@pytest.fixture(scope="module")
def model():
    """A model whose middle layer has weights that int8 cannot hold: rounding loses what tells classes apart."""
    keras.utils.set_random_seed(0)
    made = stack(
        (6, 6, 1),
        layers.Conv2D(4, 3, activation="relu", name="conv"),
        layers.Flatten(name="flat"),
        layers.Dense(6, name="odd"),
        layers.Dense(5, name="scores"),
        name="net",
    )
    kernel, bias = made.get_layer("odd").get_weights()
    kernel[0] = 40 * np.sign(kernel[0])
    made.get_layer("odd").set_weights([kernel, bias])
    return made


@pytest.fixture(scope="module")
def data(model):
    return X, model.predict(X, verbose=0).argmax(1)


@pytest.fixture(scope="module")
def all_but_one(model, data):
    return quantization_sensitivity(model, data, representative=X[:50], progress=False)


@pytest.mark.slow
def test_model_explorer_gets_a_value_for_the_operators_of_every_layer(model, all_but_one):
    avoided = all_but_one.frame().set_index("layer")["avoided"]
    graph = json.loads(node_data(all_but_one))["main"]
    for options in ({}, {"float_layers": ["odd"]}):
        content = quantize(model, "int8", representative=X[:50], **options)
        names = {
            tensor["name"] for tensor in Interpreter(model_content=content).get_tensor_details()
        }
        shown = {name: entry["value"] for name, entry in graph["results"].items() if name in names}
        assert set(shown.values()) == set(avoided)
        assert {name.split("/")[1].removesuffix("_1") for name in shown if "/" in name} >= {
            "conv",
            "odd",
        }
        for name, value in shown.items():
            if "/" in name:
                assert value == avoided[name.split("/")[1].removesuffix("_1")]


@pytest.mark.slow
def test_every_row_is_what_float_layers_gives(model, data, all_but_one):
    frame = all_but_one.frame().set_index("layer")
    assert set(frame.index) == {"conv", "odd", "scores"}
    assert frame.index[0] == "odd"
    files = {
        name: quantize(model, "int8", representative=X[:50], float_layers=name)
        for name in ("odd", "conv")
    }
    files["plain"] = quantize(model, "int8", representative=X[:50])
    pairs = compare_models(model, files, data)
    plain = pairs.pop("plain")
    assert all_but_one.plain.summary()["flips"] == plain.summary()["flips"]
    assert plain.overall.lost > 10
    for name, pair in pairs.items():
        row, summary = frame.loc[name], pair.summary()
        for figure in (
            "negative_flips",
            "positive_flips",
            "change_pp",
            "worst_class",
            "worst_change_pp",
        ):
            assert row[figure] == summary[figure], figure
        assert row["changed"] == summary["flips"]
        assert row["avoided"] == plain.overall.lost - pair.overall.lost
        assert abs(row["bytes"] - len(files[name])) < 1000
    assert frame["avoided_p_holm"].ge(frame["avoided_p"]).all()


@pytest.mark.slow
def test_ranges_may_end_at_a_percentile_with_any_layers_in_float(model, data):
    settings = {"representative": X[:50], "percentile": 97}
    found = quantization_sensitivity(model, data, layers=["scores"], progress=False, **settings)
    float_layers = {"plain": (), "scores": "scores"}
    files = {
        name: quantize(model, "int8", float_layers=kept, **settings)
        for name, kept in float_layers.items()
    }
    pairs = compare_models(model, files, data)
    names = ("negative_flips", "positive_flips", "flips")
    plain = pairs["plain"].summary()
    assert [found.plain.summary()[name] for name in names] == [plain[name] for name in names]
    assert found.frame()["negative_flips"].tolist() == [pairs["scores"].overall.lost]
    assert found.plain.overall.lost > 20  # the values beyond are clipped


@pytest.mark.slow
def test_only_that_layer_is_rounded(model, data, all_but_one):
    alone = quantization_sensitivity(
        model,
        data,
        representative=X[:50],
        layers=["odd", "scores"],
        mode="only_one",
        progress=False,
    )
    assert alone.frame()["layer"].tolist() == ["odd", "scores"]
    assert alone.frame()["negative_flips"][0] > alone.frame()["negative_flips"][1]
    layers = {"odd": model.get_layer("odd")}
    source, own = Conversions(model, representative=X[:50]).calibrated(layers)
    content = source.quantized(sorted({*source.operators.operands} - {*own["odd"]}))
    kinds = [
        (kind, dtype.name)
        for kind, dtype, _ in operators(content)
        if kind in ("CONV_2D", "FULLY_CONNECTED")
    ]
    assert kinds == [
        ("CONV_2D", "float32"),
        ("FULLY_CONNECTED", "int8"),
        ("FULLY_CONNECTED", "float32"),
    ]


def test_the_most_sensitive_layer_is_named_and_drawn(all_but_one):
    assert all_but_one.summary()["first_layer"] == "odd"
    assert all_but_one.chart().to_dict()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"layers": ["none"]},
            "layers: got none, expected names of layers, such as",
        ),
        ({"layers": []}, r"layers: got \[\], expected one layer or more"),
        ({"percentile": 40}, "percentile: got 40, expected above 50 and at most 100"),
        ({"mode": "both"}, "mode: got 'both', expected 'all_but_one' or 'only_one'"),
    ],
    ids=["unknown", "none", "percentile", "mode"],
)
def test_bad_settings_get_one_line(model, data, options, message):
    assert_refused(
        message, quantization_sensitivity, model, data, **{"representative": X[:50], **options}
    )
