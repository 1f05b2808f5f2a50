"""Where int4 does not pass, layers get wider types, those first that cost the worst class most."""

import numpy as np
import pytest

from tests.builders.compressible import with_coarse_steps
from tests.builders.kinds import only_kinds
from tfaudit.compress.litert.flatbuffer_contents import weight_types
from tfaudit.compress.model_files import load_keras
from tfaudit.extensions.mixed_precision.sensitivity import LayeredFiles
from tfaudit.extensions.mixed_precision.weight_rounding import RoundedWeights
from tfaudit.extensions.search.candidates import Candidate

pytest.importorskip("litert_quantizer")
THREE_KINDS = ("float32", "int8", "int4")


@pytest.fixture(autouse=True)
def nearest(monkeypatch):
    """Round to the nearest values: on examples, weights are rounded so that the model below loses nothing."""
    monkeypatch.setattr(RoundedWeights, "file", lambda self, operators: self._content)


@pytest.fixture(scope="module")
def coarse(tmp_path_factory, model):
    """The path of a model whose last layer int4 ruins."""
    path = tmp_path_factory.mktemp("coarse") / "coarse.keras"
    with_coarse_steps(load_keras(model)).save(path)
    return path


@pytest.mark.slow
def test_where_int4_fails_the_layer_that_it_ruins_becomes_int8(search, coarse, tmp_path):
    with only_kinds(*THREE_KINDS):
        found = search(tmp_path / "out", train=None, model=coarse)
    table = found.frame().set_index("candidate")
    assert table.loc["int4", "outcome"] == "fail"
    assert (found.outcome, found.title) == ("pass", "int4, 6 bits a weight")
    assert "In int8: logits." in found.notes
    assert {dtype for dtype, _ in weight_types(found.content).values()} == {"int4", "int8"}
    assert table.loc["int8", "bytes"] > table.loc["int4-bits=6", "bytes"]


@pytest.mark.slow
def test_layers_are_measured_once_and_the_mean_bits_are_kept(maker_of, coarse, monkeypatch):
    maker = maker_of(coarse)
    assert not maker.is_measured("int4")
    contents = {bits: maker.flatbuffer(Candidate("int4", bits=bits)) for bits in (4.5, 6.0)}
    assert maker.is_measured("int4")
    monkeypatch.setattr(LayeredFiles, "loss", None)
    contents[16.0] = maker.flatbuffer(Candidate("int4", bits=16.0))
    widths = {"int4": 4, "int8": 8, "float16": 16}
    for bits, content in contents.items():
        types = weight_types(content).values()
        mean = np.average(
            [widths[dtype] for dtype, _ in types], weights=[size for _, size in types]
        )
        assert mean <= bits
    assert contents[4.5] == maker.flatbuffer(Candidate("int4")) != contents[6.0]
