"""Private names of TensorFlow: used where they are looked up, told in one line where they are gone."""

import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from tests.builders.refusals import assert_refused
from tfaudit.runtime.tensorflow_internals import (
    inner_graph,
    quantize_calibrated,
    set_calibrate_only,
)

pytestmark = pytest.mark.filterwarnings("ignore:Statistics for quantized inputs:UserWarning")


@pytest.fixture
def calibrated():
    """Flatbuffer of a small network with the ranges of its activations."""
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.representative_dataset = lambda: ([np.ones((1, 4), "f4") * i] for i in range(4))
    set_calibrate_only(converter, True)
    return converter.convert()


def test_a_calibrated_file_is_quantized_without_calibrating_again(calibrated):
    interpreter = Interpreter(model_content=quantize_calibrated(calibrated, ()))
    assert np.int8 in {tensor["dtype"] for tensor in interpreter.get_tensor_details()}
    assert not hasattr(tf.lite.TFLiteConverter, "calibrate_only")


def test_a_version_without_it_is_one_line(calibrated, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow.lite.python.convert", None)
    assert_refused("^tensorflow: got version 2", quantize_calibrated, calibrated, ())


def test_the_graph_of_an_inner_function():
    inner = tf.function(lambda x: x + 1.0)
    outer = tf.function(lambda x: inner(x) * 2.0).get_concrete_function(tf.TensorSpec(()))
    [call] = [op for op in outer.graph.get_operations() if "PartitionedCall" in op.type]
    kinds = {op.type for op in inner_graph(outer.graph, call.get_attr("f").name).get_operations()}
    assert "AddV2" in kinds
