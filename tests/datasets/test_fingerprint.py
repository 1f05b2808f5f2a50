"""Fingerprints name every change of the data; rounding of floats does not count as a change."""

import json

import numpy as np
import pytest

from tfaudit.datasets import fingerprint
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.examples import Examples
from tfaudit.datasets.fingerprint import Fingerprint, contents

X, Y = np.random.default_rng(0).normal(size=(90, 5)), np.arange(90) % 3
INPUTS = {"x": X, "n": np.arange(90), "text": np.array([f"text {i}" for i in range(90)])}


def of(x=INPUTS, y=Y, names=("a", "b", "c"), **facts):
    data: Dataset = Examples(x, y, **facts).checked("own").dataset("own", "test", names)
    return Fingerprint.of(data)


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (of(), ""),
        (of({**INPUTS, "x": X * (1 + 1e-7)}), ""),  # of another number of threads
        (of({**INPUTS, "x": X[::-1]}), "inputs"),
        (of({**INPUTS, "x": X[:, ::-1]}), "inputs"),
        (of({**INPUTS, "x": 1.01 * X}), "inputs"),
        (of({**INPUTS, "n": INPUTS["n"] + (np.arange(90) == 50)}), "inputs"),
        (of({**INPUTS, "text": np.array(["same"] * 90)}), "inputs"),
        (of(X), "inputs"),
        (of(y=Y[::-1]), "labels"),
        (of(y=np.eye(3)[Y]), "labels"),
        (of(weights=1 + Y), "labels"),
        (of({key: values[:60] for key, values in INPUTS.items()}, Y[:60]), "number"),
        (of(names=("b", "a", "c")), "class names"),
        (of(ids=np.arange(90)[::-1]), "ids"),
        (of(groups={"side": Y}), "groups"),
    ],
)
def test_what_differs_is_named(other, what):
    assert of().difference(other) == other.difference(of()) == what
    assert Fingerprint.from_json(json.loads(json.dumps(other.to_json()))) == other
    assert (other.digest == of().digest) == (other == of())


def test_of_large_data_some_examples_are_read(monkeypatch):
    monkeypatch.setattr(fingerprint, "MOST_BYTES", X.nbytes // 10)
    pixels = np.zeros((900, 5), np.uint8)
    first, last = (
        of(np.where(np.arange(900)[:, None] == i, 1, pixels), np.resize(Y, 900)) for i in (0, 899)
    )
    assert first.difference(last) == "inputs"


def test_contents_of_examples_depend_on_values_and_labels_alone():
    rows = contents(INPUTS, Y)
    assert len(set(rows)) == 90
    floats = {**INPUTS, "n": INPUTS["n"].astype("float32")}
    assert contents({key: values[40:] for key, values in floats.items()}, Y[40:]) == rows[40:]
    assert contents(INPUTS, Y + 1) != rows
