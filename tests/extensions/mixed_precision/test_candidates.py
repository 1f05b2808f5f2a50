"""What a search tries with layers of other types: in float where int8 fails, and wider ones where int4 does."""

import json

import numpy as np
import pytest

from tests.builders.compressible import with_coarse_steps
from tests.builders.kinds import only_kinds
from tfaudit.compress.litert.flatbuffer_contents import weight_types
from tfaudit.compress.litert.quantize import quantize
from tfaudit.compress.model_files import load_keras
from tfaudit.compress.pruning.kernels import kernel_layers
from tfaudit.datasets.representative import representative_part
from tfaudit.extensions.mixed_precision import candidates as choices
from tfaudit.extensions.mixed_precision.sensitivity import LayeredFiles, quantization_sensitivity
from tfaudit.extensions.mixed_precision.weight_rounding import RoundedWeights

pytest.importorskip("tfaudit.extensions.search")  # which tries them
from tests.builders.searches import parts_of
from tfaudit.extensions.search import candidates
from tfaudit.extensions.search.candidate_models import SENSITIVITY_EXAMPLES
from tfaudit.extensions.search.candidate_store import flatbuffer_path
from tfaudit.extensions.search.candidates import Candidate
from tfaudit.extensions.search.search import _Search
from tfaudit.extensions.search.smallest_file import NOT_TRIED

FLOAT_KEY = "int8-percentile=99.999-float=1"


@pytest.fixture
def int8_kinds(monkeypatch):
    """int8, float32, and int8 with a layer in float."""
    monkeypatch.setattr(candidates, "PERCENTILES", ())
    monkeypatch.setattr(choices, "FLOAT_LAYERS", (1,))
    # the layers of so small a model are most of it
    monkeypatch.setattr(choices, "MOST_ADDED", 9.0)
    with only_kinds("float32", "int8"):
        yield


class Killed(BaseException):
    pass


@pytest.mark.slow
def test_the_layers_that_int8_costs_most_stay_in_float_and_are_measured_once(
    search, int8_kinds, outlier, data, tmp_path, monkeypatch
):
    measure, measured = LayeredFiles.row, []

    def row(self, name):
        if len(measured) == 1:
            measured.append("killed")
            raise Killed
        measured.append(name)
        return measure(self, name)

    monkeypatch.setattr(LayeredFiles, "row", row)
    with pytest.raises(Killed):
        search(tmp_path / "out", train=None, model=outlier)
    found = search(tmp_path / "out", train=None, model=outlier)
    net = load_keras(outlier)
    assert measured == [kernel_layers(net)[0], "killed", *kernel_layers(net)[1:]]
    table = found.frame().set_index("candidate")
    assert table.loc[FLOAT_KEY, "outcome"] != NOT_TRIED
    monkeypatch.undo()
    parts = parts_of(data[0])
    sample = representative_part(parts.selection, SENSITIVITY_EXAMPLES, 0)
    settings = {"representative": parts.calibration.held, "percentile": 99.999}
    ranked = quantization_sensitivity(net, (sample.held, sample.labels), **settings)
    first = ranked.frame()["layer"][0]
    made = flatbuffer_path(tmp_path / "out", FLOAT_KEY)
    assert made.read_bytes() == quantize(net, "int8", float_layers=[first], **settings)


@pytest.mark.slow
def test_a_budget_ends_the_measurement_of_layers(
    search, int8_kinds, outlier, tmp_path, monkeypatch
):
    real, called = LayeredFiles.row, []

    def row(self, name):
        called.append(name)
        return real(self, name)

    monkeypatch.setattr(LayeredFiles, "row", row)
    monkeypatch.setattr(_Search, "_is_over", lambda _: len(called) >= 1)
    table = search(tmp_path, train=None, model=outlier).frame().set_index("candidate")
    reason = "The budget ended while it was measured layer by layer."
    assert table.index[table["reason"] == reason].tolist() == [FLOAT_KEY]
    measured = json.loads((tmp_path / "candidates/sensitivity_int8.json").read_text())
    assert len(measured["rows"]) == 1  # what was measured is kept


def test_choices_have_a_key_and_a_title():
    found = [
        Candidate(one.kind, layers=one)
        for one in (choices.LayersInFloat(2), choices.WiderLayers(4.5))
    ]
    assert [(one.key, one.title) for one in found] == [
        ("int8-float=2", "int8, 2 layers in float"),
        ("int4-bits=4.5", "int4, 4.5 bits a weight"),
    ]


@pytest.fixture
def nearest(monkeypatch):
    """Round to the nearest values: on examples, weights are rounded so that the model below loses nothing."""
    pytest.importorskip("litert_quantizer")
    monkeypatch.setattr(RoundedWeights, "file", lambda self, operators: self._content)


@pytest.fixture(scope="module")
def coarse(tmp_path_factory, model):
    """The path of a model whose last layer int4 ruins."""
    path = tmp_path_factory.mktemp("coarse") / "coarse.keras"
    with_coarse_steps(load_keras(model)).save(path)
    return path


@pytest.mark.slow
def test_where_int4_fails_the_layer_that_it_ruins_becomes_int8(search, coarse, nearest, tmp_path):
    with only_kinds("float32", "int8", "int4"):
        found = search(tmp_path / "out", train=None, model=coarse)
    table = found.frame().set_index("candidate")
    assert table.loc["int4", "outcome"] == "fail"
    assert (found.outcome, found.title) == ("pass", "int4, 6 bits a weight")
    assert "In int8: logits." in found.notes
    assert {dtype for dtype, _ in weight_types(found.content).values()} == {"int4", "int8"}
    assert table.loc["int8", "bytes"] > table.loc["int4-bits=6", "bytes"]


@pytest.mark.slow
def test_layers_are_measured_once_and_the_mean_bits_are_kept(
    maker_of, coarse, nearest, monkeypatch
):
    maker = maker_of(coarse)
    assert not maker.is_measured("int4")
    contents = {
        bits: maker.flatbuffer(Candidate("int4", layers=choices.WiderLayers(bits)))
        for bits in (4.5, 6.0)
    }
    assert maker.is_measured("int4")
    monkeypatch.setattr(LayeredFiles, "loss", None)
    contents[16.0] = maker.flatbuffer(Candidate("int4", layers=choices.WiderLayers(16.0)))
    widths = {"int4": 4, "int8": 8, "float16": 16}
    for bits, content in contents.items():
        types = weight_types(content).values()
        mean = np.average(
            [widths[dtype] for dtype, _ in types], weights=[size for _, size in types]
        )
        assert mean <= bits
    assert contents[4.5] == maker.flatbuffer(Candidate("int4")) != contents[6.0]
