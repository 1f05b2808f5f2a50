"""Where int8 does not pass, its other files are tried: ranges at percentiles, layers in float, training for int8."""

import dataclasses
import json
import re
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest

from tests.builders.compressible import CLASSES, with_outlier
from tfaudit.audits.gate.gate import gate
from tfaudit.audits.gate.limits import Limits
from tfaudit.compress.litert.inference import predict
from tfaudit.compress.litert.quantize import quantize
from tfaudit.compress.model_files import load_keras
from tfaudit.compress.pruning.kernels import kernel_layers
from tfaudit.compress.sensitivity import LayeredInt8, quantization_sensitivity
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions
from tfaudit.search import candidate_models, candidate_store, candidates
from tfaudit.search import search as search_module
from tfaudit.search.candidate_models import SENSITIVITY_EXAMPLES
from tfaudit.search.candidate_store import flatbuffer_path
from tfaudit.search.candidates import Candidate, Preparation, channel_pruning
from tfaudit.search.progress import SearchProgress
from tfaudit.search.search import _Search
from tfaudit.search.search_data import (
    Parts,
    in_memory,
    read_data,
    require_same_range,
    some_of_every_class,
)
from tfaudit.search.smallest_file import NOT_TRIED
from tfaudit.study.quantization import KINDS
from tfaudit.study.remedies import REMEDIES

TWO_KINDS = {kind: KINDS[kind] for kind in ("float32", "int8")}


@pytest.fixture
def int8_kinds(monkeypatch):
    """int8, float32, and one choice of each sort."""
    monkeypatch.setattr(candidates, "PERCENTILES", (98,))
    monkeypatch.setattr(candidates, "SPARED", (1,))
    monkeypatch.setattr(
        candidate_models, "MOST_ADDED", 9.0
    )  # the layers of so small a model are most of it
    with mock.patch.dict(KINDS, TWO_KINDS, clear=True):
        yield


@pytest.fixture(scope="module")
def outlier(tmp_path_factory, model):
    """The path of a model that int8 ruins."""
    path = tmp_path_factory.mktemp("outlier") / "outlier.keras"
    with_outlier(load_keras(model)).save(path)
    return path


@pytest.mark.slow
def test_where_int8_fails_a_percentile_is_tried_and_chosen(search, int8_kinds, outlier, tmp_path):
    found = search(tmp_path / "out", train=None, model=outlier)
    table = found.frame().set_index("candidate")
    assert (found.outcome, found.title) == ("pass", "int8, percentile 98")
    assert table.loc["int8", "outcome"] == "fail"
    assert (
        table.loc["int8-percentile=99.999-float=1", "reason"]
        == "Not smaller than int8-percentile=98, which passes."
    )
    assert found.summary()["tried"] == 3


@pytest.mark.slow
def test_where_int8_passes_nothing_else_is_tried(search, int8_kinds, tmp_path):
    found = search(tmp_path / "out", train=None)
    table = found.frame().set_index("candidate")
    assert found.chosen == "int8"
    assert set(table.index[table["outcome"] == NOT_TRIED]) == {
        "int8-float=last",
        "int8-percentile=98",
        "int8-percentile=99.999-float=1",
        "float32",
    }


def enlarged(data, ids, times=1000):
    """Return the data with the examples of some ids scaled: the signs of their values still tell the class."""
    x = np.where(np.isin(data.ids, ids)[:, None], times, 1).astype("float32") * data.x
    return dataclasses.replace(data, x=x)


def parts_of(data):
    return Parts.of(in_memory(read_data(data, "data"), "data", CLASSES, "test"), 0.5, 0)


@pytest.mark.slow
def test_outliers_of_the_held_out_part_are_counted_and_stop_nothing(
    search, int8_kinds, data, tmp_path
):
    ids = parts_of(data[0]).held_out.example_ids[:3]
    found = search(tmp_path / "out", train=None, data=enlarged(data[0], ids))
    assert (found.outcome, found.chosen) == ("pass", "int8")
    [note] = [note for note in found.notes if "clipped" in note]
    counted, values = re.match(
        "([0-9,]+) of ([0-9,]+) input values of the held-out part lie outside", note
    ).groups()
    assert int(counted) >= 3 * 8
    assert values == "3,200"
    predict(
        found.content, parts_of(enlarged(data[0], ids)).held_out
    )  # nor does the gate refuse them


@pytest.mark.slow
def test_an_outlier_that_calibrates_makes_int8_fail_and_the_percentile_is_tried(
    search, int8_kinds, data, tmp_path
):
    selection = parts_of(data[0]).selection
    late = [
        one
        for one in some_of_every_class(selection, 100, 0).example_ids
        if one in selection.example_ids[64:]
    ]
    found = search(tmp_path / "out", train=None, data=enlarged(data[0], late[:1]))
    table = found.frame().set_index("candidate")
    assert table.loc["int8", "outcome"] == "fail"
    assert found.chosen == "int8-percentile=98"


def test_training_data_of_another_scale_are_refused(data):
    examples, (x, y) = parts_of(data[0]).selection, (data[1].x, data[1].y)
    outlier = np.where(np.arange(len(x)) == 5, 1e6, 1)[:, None] * x
    for same in (x, outlier, 1.2 * x, x - 0.1):
        require_same_range(
            in_memory(read_data((same.astype("float32"), y), "train"), "train", CLASSES, "train"),
            examples,
        )
    for other in (255 * x, x / 255, x + 20, 127 * (x + 1)):
        train = in_memory(
            read_data((other.astype("float32"), y), "train"), "train", CLASSES, "train"
        )
        with pytest.raises(
            InputError,
            match=r"train: got values from .* to .*, expected the range of the data, -1.* to 1",
        ):
            require_same_range(train, examples)


class Killed(BaseException):
    pass


@pytest.mark.slow
def test_the_layers_that_int8_costs_most_stay_in_float_and_are_measured_once(
    search, int8_kinds, outlier, data, tmp_path, monkeypatch
):
    monkeypatch.setattr(candidates, "PERCENTILES", ())
    measure, measured = LayeredInt8.row, []

    def row(self, name):
        if len(measured) == 1:
            measured.append("killed")
            raise Killed
        measured.append(name)
        return measure(self, name)

    monkeypatch.setattr(LayeredInt8, "row", row)
    with pytest.raises(Killed):
        search(tmp_path / "out", train=None, model=outlier)
    found = search(tmp_path / "out", train=None, model=outlier)
    net = load_keras(outlier)
    assert measured == [kernel_layers(net)[0], "killed", *kernel_layers(net)[1:]]
    table = found.frame().set_index("candidate")
    assert table.loc["int8-percentile=99.999-float=1", "outcome"] != NOT_TRIED
    monkeypatch.undo()
    selection = Parts.of(
        in_memory(read_data(data[0], "data"), "data", CLASSES, "test"), 0.5, 0
    ).selection
    sample, images = (
        some_of_every_class(selection, most, 0) for most in (SENSITIVITY_EXAMPLES, 100)
    )
    options = {"percentile": 99.999, "rmse": False}
    ranked = quantization_sensitivity(
        net, (sample.held, sample.labels), representative=images.held, **options
    )
    first = ranked.frame()["layer"][0]
    expected = quantize(
        net, "int8", representative=images.held, keep_float=[first], percentile=99.999
    )
    made = flatbuffer_path(tmp_path / "out", "int8-percentile=99.999-float=1")
    assert made.read_bytes() == expected


@pytest.mark.slow
@pytest.mark.parametrize("doing", ["was quantized", "was measured layer by layer", "was tested"])
def test_a_budget_ends_a_conversion_a_measurement_and_a_test(
    search, int8_kinds, outlier, tmp_path, monkeypatch, doing
):
    over, tried = [False], []
    monkeypatch.setattr(_Search, "_is_over", lambda self: over[0])
    real = {
        "quantize": candidate_models.quantize,
        "row": LayeredInt8.row,
        "predict": search_module.predict,
    }

    def end_at(name, call, calls):
        def called(*arguments, **options):
            tried.append(name)
            over[0] = over[0] or tried.count(name) == calls
            return call(*arguments, **options)

        return called

    if doing == "was quantized":
        monkeypatch.setattr(candidate_models, "quantize", end_at("quantize", real["quantize"], 2))
    elif doing == "was measured layer by layer":
        monkeypatch.setattr(candidates, "PERCENTILES", ())
        monkeypatch.setattr(
            LayeredInt8,
            "row",
            lambda self, name: over.__setitem__(0, True) or real["row"](self, name),
        )
    else:
        # the first call looks at the numbers of classes
        monkeypatch.setattr(search_module, "predict", end_at("predict", real["predict"], 3))
    out = tmp_path / "out"
    found = search(out, train=None, model=outlier)
    reasons = found.frame().set_index("candidate")["reason"]
    interrupted = reasons[reasons == f"The budget ended while it {doing}."].index.tolist()
    expected = {"was measured layer by layer": "int8-percentile=99.999-float=1"}
    assert interrupted == [expected.get(doing, "int8-float=last")]
    assert not flatbuffer_path(out, interrupted[0]).exists()
    title = found.frame().set_index("candidate").loc[interrupted[0], "title"]
    assert found.stopped.startswith(f'The budget ended while "{title}" {doing}; ')
    if doing == "was measured layer by layer":
        rows = json.loads((out / "candidates/sensitivity.json").read_text())["rows"]
        assert len(rows) == 1  # what was measured is kept


@pytest.mark.slow
@pytest.mark.parametrize(
    "pruned", [None, channel_pruning(0.5, ["hidden"])], ids=["as it is", "fewer channels"]
)
def test_a_model_is_trained_for_int8_as_it_is_and_with_fewer_channels(
    maker, training, tmp_path, pruned
):
    candidate = Candidate("int8", pruned, aware=True)
    assert not maker.is_trained(candidate.preparation)
    in_float = maker.predictions(candidate.preparation)
    assert maker.is_trained(candidate.preparation)
    in_int8 = predict(maker.flatbuffer(candidate), training.held, k=2)
    assert (in_int8.classes[:, 0] == training.labels).mean() > 0.9
    assert (in_int8.classes[:, 0] == in_float.classes[:, 0]).mean() >= 0.995
    trained = load_keras(maker._store.model_path(candidate.preparation.key))
    assert {8 * 512 if pruned is None else 8 * 256} <= {
        int(np.prod(weights.shape)) for weights in trained.weights
    }


@pytest.mark.slow
def test_the_last_layer_stays_in_float_as_quantize_says(maker, model):
    images = some_of_every_class(maker._parts.calibration, 100, 0)
    expected = quantize(load_keras(model), "int8", representative=images.held, keep_float="last")
    content = maker.flatbuffer(Candidate("int8", last=True))
    assert content == expected
    assert content != maker.flatbuffer(Candidate("int8"))


def verdict_of(lost):
    labels = np.repeat([0, 1], 500)
    found = labels.copy()
    found[:lost] = 1
    before, after = (Predictions.from_top1(labels, answers) for answers in (labels, found))
    return gate(before, after, Limits(worst_class_drop_pp=5))


CHOICES = (
    {"last": True},
    {"percentile": 99.99},
    {"percentile": 99.999, "spared": 1},
    {"aware": True},
)


@pytest.mark.parametrize("choice", CHOICES, ids=str)
@pytest.mark.parametrize(
    ("quantized", "unquantized", "reason"),
    [
        (0, 0, "passes without a remedy."),
        (30, 0, ""),
        (300, 0, ""),  # int8 alone may ruin a model that passes
        (300, 40, "Its model does not pass before it is quantized."),
        (None, 0, "was not tried."),
        ("no file", 0, "has no file."),
    ],
)
@pytest.mark.parametrize(
    "pruned", [None, channel_pruning(0.5, ["hidden"])], ids=["as it is", "fewer channels"]
)
def test_choices_of_int8_are_tried_where_int8_is_what_fails(
    choice, quantized, unquantized, reason, pruned
):
    control = Candidate("int8", pruned)
    search = object.__new__(_Search)
    known = isinstance(quantized, int)
    search._verdicts = {control.key: verdict_of(quantized)} if known else {}
    search._attempts = (
        {control.key: candidate_store.Attempt(b"file" * known)} if quantized is not None else {}
    )
    search._floats = {Preparation(pruned).key: verdict_of(unquantized)}
    candidate = dataclasses.replace(control, **choice)
    assert candidate.control == control
    assert search._needs_no_remedy(candidate, control).endswith(reason)
    assert bool(reason) == bool(search._needs_no_remedy(candidate, control))


def search_with(sizes):
    """A search that made files of these sizes; that of dynamic range passes, and no other of them."""
    search = object.__new__(_Search)
    search._verdicts = {key: verdict_of(0 if key == "dynamic_range" else 30) for key in sizes}
    search._attempts = {key: candidate_store.Attempt(b"x" * size) for key, size in sizes.items()}
    search._floats, search._hopeless, search._bytes, search._left_out = {}, {}, dict(sizes), {}
    return search


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_a_choice_is_no_smaller_than_plain_int8(choice):
    choice = Candidate("int8", estimate=3.0, **choice)
    search = search_with({"int8": 5, "dynamic_range": 4})
    assert search._is_needless(choice) == "Not smaller than dynamic_range, which passes."
    search = search_with({"int8": 3, "dynamic_range": 4})
    assert search._is_needless(choice) == ""


def test_a_remedied_file_is_no_smaller_than_its_control():
    control = channel_pruning(0.5, ["hidden"])
    remedied = Candidate("int8", dataclasses.replace(control, remedy="distillation"), estimate=3.0)
    search = search_with({"channel-0.5-int8": 5, "dynamic_range": 4})
    assert search._is_needless(remedied) == "Not smaller than dynamic_range, which passes."
    search = search_with({"channel-0.5-int8": 3, "dynamic_range": 4})
    assert search._is_needless(remedied) == ""


@pytest.mark.parametrize(
    "pruned", [None, channel_pruning(0.5, ["hidden"])], ids=["as it is", "fewer channels"]
)
def test_where_int8_is_left_out_for_its_size_its_choices_and_remedies_say_so(pruned):
    search, control = search_with({"dynamic_range": 4}), Candidate("int8", pruned, estimate=3.0)
    search._maker, search._but_size = SimpleNamespace(flatbuffer=lambda _: b"12345"), None
    search._floats[Preparation(pruned).key] = verdict_of(0)
    assert search._made(control, None, SearchProgress()) is None
    others = [dataclasses.replace(control, **choice) for choice in CHOICES]
    if pruned is not None:
        others += [
            dataclasses.replace(control, pruned=dataclasses.replace(pruned, remedy=name))
            for name in REMEDIES
        ]
    for candidate in others:
        assert (
            search._is_needless(candidate)
            == search._left_out[control.key]
            == ("Not smaller than dynamic_range, which passes.")
        )
        assert not search._is_open(candidate)


def test_a_model_without_int8_among_its_kinds_has_no_choices(few_candidates, model):
    assert not any(
        one.is_choice for one in candidates.candidates(lambda: load_keras(model), training=True)
    )
