"""Where int8 does not pass, its other files are tried: ranges at percentiles, layers in float, training for int8."""

import dataclasses
import re

import numpy as np
import pytest

from tests.builders.compressible import CLASSES
from tests.builders.kinds import only_kinds
from tests.builders.refusals import assert_refused
from tests.builders.searches import parts_of
from tfaudit.compress.litert.conversions import Conversions
from tfaudit.compress.litert.inference import predict
from tfaudit.compress.litert.quantize import quantize
from tfaudit.compress.model_files import load_keras
from tfaudit.datasets.examples import as_dataset
from tfaudit.extensions.search import candidates
from tfaudit.extensions.search.candidate_store import flatbuffer_path
from tfaudit.extensions.search.candidates import Candidate, channel_pruning
from tfaudit.extensions.search.search import _Search
from tfaudit.extensions.search.search_inputs import in_memory, require_same_range
from tfaudit.extensions.search.search_settings import SearchSettings

TWO_KINDS = ("float32", "int8")


@pytest.fixture
def int8_kinds(monkeypatch):
    """int8, float32, and one choice of each sort."""
    monkeypatch.setattr(candidates, "PERCENTILES", (98,))
    monkeypatch.setattr(candidates, "LAYER_CHOICES", {})
    with only_kinds(*TWO_KINDS):
        yield


@pytest.mark.slow
def test_int8_with_one_scale_per_kernel_is_a_plain_file_on_request(search, int8_kinds, tmp_path):
    found = search(tmp_path / "out", train=None, per_tensor=True)
    row = found.frame().set_index("candidate").loc["int8-per_tensor"]
    facts = ("int8, one scale per kernel", "pass", "pass")
    assert (row["title"], row["outcome"], row["judged"]) == facts
    assert [*found.judged] == ["int8", "int8-per_tensor"]


@pytest.mark.slow
def test_one_scale_per_kernel_is_quantizes_own(maker, model):
    made = maker.flatbuffer(Candidate("int8", per_tensor=True))
    images = maker._parts.calibration.held
    assert made == quantize(model, "int8", representative=images, per_channel=False)
    assert made != maker.flatbuffer(Candidate("int8"))


@pytest.mark.slow
def test_where_int8_fails_a_percentile_is_tried_and_chosen(search, int8_kinds, outlier, tmp_path):
    found = search(tmp_path / "out", train=None, model=outlier)
    table = found.frame().set_index("candidate")
    assert (found.outcome, found.title) == ("pass", "int8, percentile 98")
    assert table.loc["int8", "outcome"] == "fail"
    assert found.summary()["tried"] == 3


def enlarged(data, ids, times=1000):
    """Return the data with the examples of some ids scaled: the signs of their values still tell the class."""
    x = np.where(np.isin(data.ids, ids)[:, None], times, 1).astype("float32") * data.x
    return dataclasses.replace(data, x=x)


@pytest.mark.slow
def test_outliers_of_the_held_out_part_are_counted_and_stop_nothing(
    search, int8_kinds, data, tmp_path
):
    ids = parts_of(data[0]).held_out.example_ids[:3]
    found = search(tmp_path / "out", train=None, data=enlarged(data[0], ids))
    assert (found.outcome, found.chosen) == ("pass", "int8")
    [note] = [note for note in found.notes if "clipped" in note]
    counted, values = re.match(
        "([0-9,]+) of ([0-9,]+) input values of the examples that judged the file lie outside", note
    ).groups()
    assert int(counted) >= 3 * 8
    assert values == "5,600"  # 700 examples judge a plain file
    predict(
        found.content, parts_of(enlarged(data[0], ids)).held_out
    )  # nor does the gate refuse them


def test_training_data_of_another_scale_are_refused(data):
    examples, (x, y) = parts_of(data[0]).selection, (data[1].x, data[1].y)

    def require_range(values):
        train = as_dataset((values.astype("float32"), y), "train", "train")
        require_same_range(in_memory(train, "train", CLASSES), examples)

    outlier = np.where(np.arange(len(x)) == 5, 1e6, 1)[:, None] * x
    for same in (x, outlier, 1.2 * x, x - 0.1):
        require_range(same)
    message = "train: got values from .* to .*, expected the range of the data, -1.* to 1"
    for other in (255 * x, x / 255, x + 20, 127 * (x + 1)):
        assert_refused(message, require_range, other)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("doing", "owner", "name", "calls", "key"),
    [
        ("was quantized", Conversions, "file", 3, "int8-float=last"),
        # number of classes, the model and int8 on both parts
        ("was tested", SearchSettings, "ranked", 6, "float32"),
    ],
)
def test_a_budget_ends_a_conversion_and_a_test(
    search, int8_kinds, outlier, tmp_path, monkeypatch, doing, owner, name, calls, key
):
    monkeypatch.setattr(candidates, "PERCENTILES", ())
    real, called = getattr(owner, name), []

    def counting(*arguments, **options):
        called.append(name)
        return real(*arguments, **options)

    monkeypatch.setattr(owner, name, counting)
    monkeypatch.setattr(_Search, "_is_over", lambda _: len(called) >= calls)
    found = search(tmp_path, train=None, model=outlier)
    table = found.frame().set_index("candidate")
    interrupted = table[table["reason"] == f"The budget ended while it {doing}."]
    assert interrupted.index.tolist() == [key]
    assert not flatbuffer_path(tmp_path, key).exists()
    assert found.stopped.startswith(
        f'The budget ended while "{interrupted["title"][key]}" {doing}; '
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "pruned", [None, channel_pruning(0.5, ["hidden"])], ids=["as it is", "fewer channels"]
)
def test_a_model_is_trained_for_int8_as_it_is_and_with_fewer_channels(
    maker, training, tmp_path, pruned
):
    candidate = Candidate("int8", pruned, quantization_aware=True)
    assert not maker.is_trained(candidate.preparation)
    in_float = maker.predictions(candidate.preparation)
    assert maker.is_trained(candidate.preparation)
    in_int8 = predict(maker.flatbuffer(candidate), training.held, k=2)
    assert (in_int8.classes[:, 0] == training.labels).mean() > 0.9
    assert (in_int8.classes[:, 0] == in_float.ranked[0, :, 0]).mean() >= 0.995
    trained = load_keras(maker._store.model_path(candidate.preparation.key))
    assert {8 * 512 if pruned is None else 8 * 256} <= {
        int(np.prod(weights.shape)) for weights in trained.weights
    }


@pytest.mark.slow
def test_the_last_layer_stays_in_float_as_quantize_says(maker, model):
    images = maker._parts.calibration.held
    expected = quantize(load_keras(model), "int8", representative=images, float_layers="last")
    content = maker.flatbuffer(Candidate("int8", last=True))
    assert content == expected
    assert content != maker.flatbuffer(Candidate("int8"))


def test_a_model_without_int8_among_its_kinds_has_no_choices(few_candidates, model):
    assert not any(
        one.is_choice for one in candidates.candidates(lambda: load_keras(model), training=True)
    )
