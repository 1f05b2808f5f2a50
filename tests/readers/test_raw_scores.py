"""Raw integer scores are those that the scale of the model's output makes of them, in every form of file."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.builders.refusals import assert_refused
from tfaudit import Predictions, read_predictions

EXAMPLES, CLASSES, MEMBERS = 30, 7, 3
SCALE, ZERO = 0.11, -5
STATED = {"scale": SCALE, "zero_point": ZERO}
LABELS = np.arange(EXAMPLES) % CLASSES


@pytest.fixture(params=[np.int8, np.uint8, np.int16])
def raw(request, rng):
    return rng.integers(0, 100, (MEMBERS, EXAMPLES, CLASSES)).astype(request.param)


@pytest.fixture
def read(tmp_path):
    """Writes raw scores in one form, and reads them as predictions."""

    def read(form, raw, labels=LABELS, **settings):
        np.save(tmp_path / "labels.npy", labels)
        suffix = form if form in ("npy", "csv", "parquet") else "npz"
        path = tmp_path / f"device.{suffix}"
        if form == "npy":
            np.save(path, raw)
        elif suffix == "npz":
            own = {"scale": np.float32(SCALE), "zero_point": ZERO} if form == "own" else {}
            np.savez(path, scores=raw, **own)
        else:
            frame = pd.DataFrame(raw, columns=[f"class_{i}" for i in range(CLASSES)])
            frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
        return read_predictions(tmp_path / "labels.npy", path, **settings)

    return read


def assert_same(found, raw):
    expected = Predictions.from_scores(LABELS, (raw.astype("f4") - ZERO) * np.float32(SCALE))
    assert_array_equal(found.ranked, expected.ranked)
    assert_allclose(found.probabilities, expected.probabilities, rtol=1e-5)


@pytest.mark.parametrize("form", ["npy", "npz", "csv", "parquet", "own"])
def test_raw_scores_have_the_scale_of_the_output(read, raw, form):
    settings = {} if form == "own" else STATED
    assert_same(read(form, raw[0], **settings), raw[0])
    if form in ("npy", "own"):
        assert_same(read(form, raw, **settings), raw)
    assert_same(read("own", raw[0], **STATED), raw[0])


def test_one_raw_score_is_that_of_class_1(read, rng):
    labels = LABELS % 2
    raw = rng.integers(-128, 128, (EXAMPLES, 1)).astype(np.int8)
    expected = (raw[:, 0] - float(ZERO)) * SCALE > 0
    assert_array_equal(read("own", raw, labels=labels).top1[0], expected)


@pytest.mark.parametrize(
    ("form", "settings", "message"),
    [
        ("npz", {}, r"or floats; for raw scores of a quantized model, state --scale and --zero"),
        ("npz", {"zero_point": 3}, "zero_point: got 3, expected a scale beside it"),
        ("npz", {"scale": 0.0}, "scale: got 0.0, expected a number above 0"),
        ("npz", {"scale": 1.0, "zero_point": 0.5}, "zero_point: got 0.5, expected a whole"),
        ("own", {"scale": 0.2}, "got scale 0.11 and zero point -5, expected those that are stated"),
    ],
)
def test_what_the_scale_leaves_open_is_asked_for(read, raw, form, settings, message):
    assert_refused(message, read, form, raw[0], **settings)


def test_a_scale_that_no_file_needs_is_refused(read, raw):
    assert_refused(
        r"scale: got 0\.11 for files of floats or classes",
        read,
        "npy",
        raw[0].astype(float),
        **STATED,
    )
