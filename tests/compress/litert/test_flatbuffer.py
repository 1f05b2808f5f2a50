"""Files that LiteRT runs only with the right shapes, batch or kernels; each is made by hand."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from numpy.testing import assert_allclose, assert_array_equal

from tests.builders.flatbuffers import (
    constant,
    flatbuffer,
    graph,
    operator,
    several_signatures,
    tensor,
)
from tfaudit.audits.gate.limits import Limits
from tfaudit.compress.counts import counts
from tfaudit.compress.litert.inference import predict
from tfaudit.compress.litert.latency import latencies, limited_latency
from tfaudit.compress.model_comparison import compare_models
from tfaudit.compress.model_files import open_model
from tfaudit.errors import InputError, Notice


def skip_connection():
    """Pooled and repeated pixels beside the pixels themselves: an open side may have 2 pixels, but not the file's 1."""
    pool, join = schema.Pool2DOptionsT(), schema.ConcatenationOptionsT()
    pool.strideH = pool.strideW = pool.filterHeight = pool.filterWidth = 2
    join.axis = 3
    tensors = [
        tensor("x", (1, 1, 1, 1), sides=[-1, -1, -1, 1]),
        *(tensor(name, (1, 1, 1, 1)) for name in ("pooled", "repeated")),
        tensor("both", (1, 1, 1, 2)),
        constant("times", [1, 2, 2, 1]),
        constant("sides", [1, 2]),
        tensor("scores", (1, 2)),
    ]
    operators = [
        operator("MAX_POOL_2D", ["x"], ["pooled"], pool),
        operator("TILE", ["pooled", "times"], ["repeated"], schema.TileOptionsT()),
        operator("CONCATENATION", ["x", "repeated"], ["both"], join),
        operator("MEAN", ["both", "sides"], ["scores"], schema.ReducerOptionsT()),
    ]
    return flatbuffer(graph("main", tensors, operators, ["x"], ["scores"]))


def batch_of_one_inside():
    """An open batch, which a reshaping inside fixes at 1."""
    tensors = [
        tensor("x", (1, 2, 2), sides=[-1, 2, 2]),
        constant("shape", [1, 4]),
        tensor("scores", (1, 4)),
    ]
    reshaped = operator("RESHAPE", ["x", "shape"], ["scores"], schema.ReshapeOptionsT())
    return flatbuffer(graph("main", tensors, [reshaped], ["x"], ["scores"]))


def too_fine_result():
    """A sum of integers with a scale that is too fine for XNNPACK, as in a masked recurrent layer."""
    tensors = [
        tensor("x", (1, 2), sides=[-1, 2]),
        tensor("integers", (1, 2), dtype="int8", scale=0.01),
        tensor("kernel", (2, 2), 100 * np.eye(2), dtype="int8", scale=0.01),
        tensor("sum", (1, 2), dtype="int8", scale=1e-9),
        tensor("scores", (1, 2)),
    ]
    operators = [
        operator("QUANTIZE", ["x"], ["integers"], schema.QuantizeOptionsT()),
        operator(
            "FULLY_CONNECTED",
            ["integers", "kernel", None],
            ["sum"],
            schema.FullyConnectedOptionsT(),
        ),
        operator("DEQUANTIZE", ["sum"], ["scores"], schema.DequantizeOptionsT()),
    ]
    return flatbuffer(graph("main", tensors, operators, ["x"], ["scores"]))


def test_open_sides_take_the_size_of_the_images_before_tensors_are_allocated(rng):
    x = rng.random((5, 4, 4, 1), np.float32)
    pooled = x.reshape(5, 2, 2, 2, 2).max(axis=(2, 4)).mean(axis=(1, 2))
    scores = predict(skip_connection(), x, scores_are="probabilities").probabilities
    assert_allclose(scores, np.stack([pooled, x.mean(axis=(1, 2, 3))], axis=1), rtol=1e-6)


def test_a_batch_that_a_file_fixes_inside_runs_example_by_example(rng):
    x = rng.random((5, 2, 2), np.float32)
    classes, _ = predict(batch_of_one_inside(), x, scores_are="logits")
    assert_array_equal(classes[:, 0], x.reshape(5, 4).argmax(axis=1))
    times = latencies({"file": batch_of_one_inside()}, batches=(1, 3), repeats=1)["latency_ms"]
    assert times.isna().tolist() == [False, True]


@pytest.mark.parametrize(
    ("signatures", "named", "expected"),
    [
        (["train", "swap", "keep"], "keep", [0, 1]),
        (["train", "swap", "keep"], "swap", [1, 0]),
        (["train", "swap"], None, [1, 0]),  # a loss is no scores
        (["keep"], None, [0, 1]),
        (["swap"], "serving_default", [1, 0]),  # no other can be meant
    ],
)
def test_a_signature_runs_that_is_named_or_alone_gives_scores(signatures, named, expected):
    content, x = several_signatures(*signatures), np.eye(2, dtype="float32")
    classes, _ = predict(content, x, signature=named, scores_are="logits")
    assert classes[:, 0].tolist() == expected
    assert counts(open_model(content, named)).flops == 8
    assert limited_latency(content, Limits(latency_ms=1), named) > 0
    pair = compare_models(
        content, {"same": content}, (x, expected), signature=named, scores_are="logits"
    )["same"]
    assert pair.overall.accuracy_before == 1


@pytest.mark.parametrize(("named", "got"), [(None, "none"), ("serve", "'serve'")])
def test_a_signature_that_is_unclear_or_unknown_is_asked_for_by_name(named, got):
    content = several_signatures("train", "swap", "keep")
    line = f"signature: got {got} for a flatbuffer of several, expected one of train, swap, keep"
    for run in (
        lambda: predict(content, np.eye(2), signature=named),
        lambda: open_model(content, named),
    ):
        with pytest.raises(InputError) as caught:
            run()
        assert str(caught.value) == line


def test_what_xnnpack_refuses_runs_without_it_and_a_notice_says_so():
    with pytest.warns(
        Notice, match="cannot run the model with its delegate XNNPACK, and runs it without"
    ):
        classes, _ = predict(too_fine_result(), np.eye(2, dtype="float32"), scores_are="logits")
    assert_array_equal(classes[:, 0], [0, 1])
