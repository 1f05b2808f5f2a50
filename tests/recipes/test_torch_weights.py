"""Weights of PyTorch's files: read as they were written, and nothing in a file is run."""

import collections
import os
import pickle

import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.builders.refusals import assert_refused
from tests.builders.torch_files import archive, module_class, torch_file
from tests.models.numpy_layers import batch_norm, convolve
from tfaudit.recipes._torch_weights import assign_torch_weights, read_torch_weights


@pytest.fixture
def draw():
    return np.random.default_rng(0)


def written(tmp_path, content):
    place = tmp_path / "weights.pth"
    place.write_bytes(content)
    return str(place)


def test_a_state_dict_comes_back(tmp_path, draw):
    kernel = draw.normal(size=(4, 3, 3, 2)).astype("f4")
    state = collections.OrderedDict(
        [
            ("a.weight", kernel.transpose(0, 3, 1, 2)),
            ("a.bias", kernel[0, 0, 0].copy()),
            ("steps", np.array(7)),
        ]
    )
    found = read_torch_weights(written(tmp_path, torch_file(state)))
    assert list(found) == ["a.weight", "a.bias", "steps"]
    for name, value in state.items():
        assert_array_equal(found[name], value)


def test_a_module_comes_back_without_its_classes(tmp_path, draw):
    net, part = module_class("Net")(), module_class("Part")()
    part.__dict__ |= {
        "_parameters": {"weight": draw.normal(size=3).astype("f4"), "bias": None},
        "_modules": {},
    }
    part.__dict__["_buffers"] = {"running_mean": np.zeros(3, "f4")}
    net.__dict__ |= {"_parameters": {}, "_buffers": {}, "_modules": {"bn1": part, "nothing": None}}
    found = read_torch_weights(written(tmp_path, torch_file(net)))
    assert list(found) == ["bn1.weight", "bn1.running_mean"]
    assert_array_equal(found["bn1.weight"], part._parameters["weight"])


class Harm:
    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.mkdir, (str(self.place),)


def test_no_code_of_a_file_is_run(tmp_path):
    place = tmp_path / "harm"
    assert_refused(
        r"weights: got no weights, expected a module or a state dict",
        read_torch_weights,
        written(tmp_path, archive(pickle.dumps({"a": Harm(place)}))),
    )
    assert not place.exists()


@pytest.mark.parametrize("offset", [-1, 1])
def test_a_tensor_beyond_its_storage_is_refused(tmp_path, offset):
    content = torch_file({"a": np.arange(4, dtype="f4")}, offset)
    assert_refused(
        r"net.pth: got an unreadable file \(a tensor \(4,\) beyond its 4 values\)",
        read_torch_weights,
        written(tmp_path, content),
        "net.pth",
    )


@pytest.mark.parametrize(
    "content", [b"", b"\x80\x02}q\x00.", archive(b"\x80\x02X")], ids=["empty", "old", "damaged"]
)
def test_other_files_are_one_line(tmp_path, content):
    assert_refused(
        r"weights: got an unreadable file \(.*\), expected a file of torch.save",
        read_torch_weights,
        written(tmp_path, content),
    )


def network():
    images = keras.Input((6, 6, 2))
    x = keras.layers.Conv2D(3, 3, padding="same", use_bias=False, name="conv")(images)
    x = keras.layers.BatchNormalization(epsilon=1e-5, name="bn")(x)
    return keras.Model(
        images, keras.layers.Dense(4, name="logits")(keras.layers.GlobalAveragePooling2D()(x))
    )


NAMES = {"conv": "body.0", "bn": "body.1", "logits": "head"}


@pytest.fixture
def weights(draw):
    shapes = {"body.0.weight": (3, 2, 3, 3), "head.weight": (4, 3), "head.bias": (4,)}
    shapes |= {f"body.1.{part}": (3,) for part in ("weight", "bias", "running_mean", "running_var")}
    return {name: draw.uniform(0.5, 1.5, shape).astype("f4") for name, shape in shapes.items()}


def test_assigned_weights_compute_what_pytorch_defines(weights, draw):
    model = network()
    assign_torch_weights(model, weights, NAMES)
    images = draw.normal(size=(2, 6, 6, 2))
    parts = {
        "gamma": "weight",
        "beta": "bias",
        "moving_mean": "running_mean",
        "moving_variance": "running_var",
    }
    statistics = {f"bn/{ours}": weights[f"body.1.{theirs}"] for ours, theirs in parts.items()}
    x = batch_norm(
        convolve(images, weights["body.0.weight"].transpose(2, 3, 1, 0)), statistics, "bn"
    )
    expected = x.mean(axis=(1, 2)) @ weights["head.weight"].T + weights["head.bias"]
    assert_allclose(model(images), expected, rtol=1e-4)


def test_missing_and_misshapen_weights_are_named(weights):
    assert_refused(
        r"weights: got no 'body.1.running_var', expected the moving_variance of .*'bn'",
        assign_torch_weights,
        network(),
        {k: v for k, v in weights.items() if k != "body.1.running_var"},
        NAMES,
    )
    assert_refused(
        r"got 'head.weight' of shape \(3, 2\), expected \(3, 4\)",
        assign_torch_weights,
        network(),
        weights | {"head.weight": np.zeros((2, 3))},
        NAMES,
    )
    assert_refused(
        r"no 'nothing for the layer bn.weight', expected the gamma of the layer 'bn'",
        assign_torch_weights,
        network(),
        weights,
        {"conv": "body.0"},
    )
