"""Private names of Keras: each does what it is used for, and has no public name yet."""

import keras
import numpy as np
import pytest

from tfaudit.runtime.keras_internals import (
    build_from,
    calls_in,
    calls_of,
    gives_probabilities,
    has_calls,
    layers_in,
    maker,
    making_call,
    mark_dense,
    output_shape_of,
    readers_of,
    step_counter,
    without_values,
)

L = keras.layers


class Holder(L.Layer):
    def __init__(self, **options):
        super().__init__(**options)
        self.inner = L.Dense(2, name="inner")

    def call(self, inputs):
        return self.inner(inputs)


@pytest.fixture
def model():
    """Shared layer, two branches: a -> shared -> sum, a -> holder -> shared -> sum."""
    source = keras.Input((2,), name="a")
    shared = L.Dense(2, name="shared")
    other = shared(Holder(name="holder")(source))
    return keras.Model(source, L.Add(name="sum")([shared(source), other]), name="net")


def test_layers_of_custom_layers_are_found(model):
    names = {layer.name for layer in layers_in(model)}
    assert names == {"net", "a", "shared", "holder", "inner", "sum"}
    assert {layer.name for layer in layers_in(model, itself=False)} == names - {"net"}
    # The public way leaves out "inner".
    assert "inner" not in {layer.name for layer in model.layers}
    assert not hasattr(model, "flatten_layers")


def test_a_layer_comes_before_those_that_it_holds(model):
    names = [layer.name for layer in layers_in(model)]
    assert names.index("net") < names.index("holder") < names.index("inner")


def test_calls_go_from_inputs_to_outputs(model):
    calls = [call.operation.name for call in calls_in(model)]
    assert calls[0] == "a"
    assert calls[-1] == "sum"
    assert calls.count("shared") == 2  # `model.operations` has it once
    assert [call.is_input for call in calls_in(model)] == [True] + [False] * 4
    assert len([op for op in model.operations if op.name == "shared"]) == 1


def test_makers_and_readers_of_tensors(model):
    total = model.output
    assert maker(total).name == "sum"
    operation, sources, place = making_call(total)
    assert (operation.name, place) == ("sum", 0)
    assert [maker(tensor).name for tensor in sources] == ["shared", "shared"]
    assert readers_of(model.input) == 2
    assert len(calls_of(model.get_layer("shared"))) == 2
    public = {name for name in dir(total) if not name.startswith("_")}
    assert public.isdisjoint({"history", "keras_history", "operation", "producer"})


def test_softmax_and_sigmoid_of_keras_ops_are_known():
    source = keras.Input((2,))
    for function, known in {
        keras.ops.softmax: True,
        keras.ops.sigmoid: True,
        keras.ops.relu: False,
    }.items():
        assert gives_probabilities(maker(function(source))) is known
    assert not hasattr(keras.ops, "Softmax")


def test_a_product_with_a_number_is_not_sparse(model):
    product = model.output * 2.0
    assert product.sparse
    with pytest.raises(AttributeError, match="immutable"):
        product.sparse = False  # the public way
    mark_dense(product)
    assert not product.sparse


def test_only_functional_models_have_calls(model):
    assert has_calls(model)
    assert not has_calls(L.Dense(1))


def test_the_shape_of_a_lambda_is_the_one_given():
    layer = L.Lambda(lambda x: x[:, :1], output_shape=(1,))
    assert output_shape_of(layer) == (1,)
    assert not hasattr(layer, "output_shape")


def test_steps_are_counted_by_batches_also_where_gradients_are_accumulated():
    net = keras.Sequential([keras.Input((1,)), L.Dense(1)])
    net.compile(keras.optimizers.SGD(gradient_accumulation_steps=2), "mse")
    net.fit(np.ones((8, 1)), np.ones(8), batch_size=2, verbose=0)
    assert int(step_counter(net.optimizer)) == 4
    assert int(net.optimizer.iterations) == 2  # the public one counts updates


def test_a_model_is_built_from_the_specification_of_a_batch():
    import tensorflow as tf

    net = keras.Sequential([L.Dense(1)])
    net.compile("sgd", "mse")
    batch = (tf.TensorSpec((None, 3)), tf.TensorSpec((None, 1)))
    build_from(net, batch)
    assert net.layers[0].kernel.shape == (3, 1)
    assert net.optimizer.built  # `model.build` leaves it unbuilt


def test_a_model_can_be_built_without_values_and_never_gets_any():
    with without_values():
        net = keras.Sequential([keras.Input((10**6,)), L.Dense(10**6)])  # 4 TB
    assert net.count_params() == 10**12 + 10**6
    with keras.StatelessScope():  # at whose end variables that wait for values would get them
        pass
    # The public way leaves them waiting.
    with keras.StatelessScope(initialize_variables=False):
        waiting = L.Dense(1)
        waiting.build((None, 1))
    with keras.StatelessScope():
        pass
    assert waiting.kernel.numpy().shape == (1, 1)
