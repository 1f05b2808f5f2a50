"""Statistics of BatchNormalization estimated anew: against NumPy layer by layer, and against torch's formula."""

import subprocess

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.builders.equality import assert_all_close
from tests.builders.refusals import assert_refused
from tests.builders.stacks import stack
from tfaudit import InputError, load_dataset, recalibrate_batch_norm
from tfaudit.population.fused_batch_norm import fuse_batch_norm

L = keras.layers


def batches_of(shape, count=20, seed=0):
    draws = np.random.default_rng(seed)
    return [draws.normal(1 + i / 10, 2, shape).astype("float32") for i in range(count)]


def spoiled(model, value=7.0):
    """The model with other statistics than those of any data."""
    for layer in norms(model):
        layer.moving_mean.assign(np.full(layer.moving_mean.shape, value))
        layer.moving_variance.assign(np.full(layer.moving_variance.shape, value))
    return model


def norms(model):
    return [layer for layer in model._flatten_layers() if isinstance(layer, L.BatchNormalization)]


def statistics(model):
    return [
        value
        for layer in norms(model)
        for value in (layer.moving_mean.numpy(), layer.moving_variance.numpy())
    ]


def convolutional(dropout=0.0, **settings):
    keras.utils.set_random_seed(0)
    images = keras.Input((6, 5, 2))
    x = L.Conv2D(4, 3, name="conv1")(images)
    x = L.ReLU()(L.BatchNormalization(name="bn1", **settings)(x))
    x = L.Dropout(dropout, seed=1)(x)
    x = L.BatchNormalization(name="bn2", **settings)(L.Conv2D(3, 2, name="conv2")(x))
    return keras.Model(images, L.Dense(2)(L.Flatten()(x)), name="net")


@pytest.mark.parametrize("fused", [False, True])
def test_statistics_are_those_of_torch_without_a_momentum(fused):
    """PyTorch's `momentum=None` averages cumulatively: batch i counts 1 / i, what came before the rest."""
    model, reference = convolutional(dropout=0.5), convolutional(dropout=0.5)
    data = batches_of((8, 6, 5, 2))
    for i, images in enumerate(data, start=1):
        for layer in norms(reference):
            layer.momentum = 1 - 1 / i
        reference(images, training=True)
    if fused:
        fuse_batch_norm(model)
    recalibrate_batch_norm(spoiled(model), data)
    assert_all_close(statistics(model), statistics(reference), rtol=1e-4, atol=1e-5)


@settings(max_examples=10)
@given(
    batches=st.integers(1, 6),
    momentum=st.sampled_from([0.0, 0.9, 0.999]),
    stale=st.sampled_from([-3.0, 1e9, np.inf, np.nan]),
)
def test_neither_momentum_nor_the_statistics_of_before_have_a_part_in_it(batches, momentum, stale):
    layer = L.BatchNormalization(momentum=momentum)
    model = spoiled(stack((3,), layer), stale)
    data = np.stack(batches_of((7, 3), batches))
    recalibrate_batch_norm(model, [*data], batches=batches)
    assert_all_close(statistics(model), [data.mean((0, 1)), data.var(1).mean(0)], rtol=1e-5)
    assert layer.momentum == momentum


def restless():
    """A model whose layers have states that training mode changes."""
    keras.utils.set_random_seed(0)
    images = keras.Input((6, 6, 1))
    x = L.GaussianNoise(0.1)(L.RandomFlip(seed=2)(images))
    x = L.SpectralNormalization(L.Conv2D(3, 3))(x)
    x = L.Dropout(0.3)(L.BatchNormalization()(x))
    return keras.Model(images, L.Dense(2)(L.Flatten()(x)))


def test_nothing_but_the_statistics_changes():
    model = restless()
    moving = {
        variable.path
        for layer in norms(model)
        for variable in (layer.moving_mean, layer.moving_variance)
    }
    before = [variable.numpy() for variable in model.variables]
    assert len(before) > len(model.weights)  # random states
    attributes = [set(vars(layer)) for layer in norms(model)]
    recalibrate_batch_norm(model, batches_of((4, 6, 6, 1)))
    found = statistics(model)
    recalibrate_batch_norm(model, batches_of((4, 6, 6, 1)))
    assert_all_close(statistics(model), found)
    changed = [
        v.path
        for v, old in zip(model.variables, before, strict=True)
        if not np.array_equal(v.numpy(), old)
    ]
    assert set(changed) == moving
    assert [set(vars(layer)) for layer in norms(model)] == attributes


def test_a_model_is_whole_again_where_the_data_fail():
    model = convolutional()
    fuse_batch_norm(model)
    before, calls = model.get_weights(), [layer.call for layer in norms(model)]

    def failing():
        yield from batches_of((4, 6, 5, 2), 3)
        raise OSError("gone")

    for data, error in ((failing(), OSError), (batches_of((4, 6, 5, 2), 3), InputError)):
        with pytest.raises(error):
            recalibrate_batch_norm(model, data)
        assert_all_close(model.get_weights(), before)
        assert [layer.call for layer in norms(model)] == calls
        assert {layer.momentum for layer in norms(model)} == {0.99}


class InInference(L.Wrapper):
    """Calls a layer in inference mode, also while it is trained."""

    def call(self, inputs):
        return self.layer(inputs, training=False)


def test_frozen_layers_and_those_in_inference_mode_keep_theirs():
    inner = stack((3,), L.BatchNormalization(name="inner"), name="base")
    outer = L.BatchNormalization(name="outer")
    model = spoiled(stack((3,), InInference(inner), outer, name="net"))
    assert recalibrate_batch_norm(model, batches_of((4, 3))) == (outer.path,)
    assert_array_equal(inner.layers[0].moving_mean, np.full(3, 7.0))
    outer.trainable = False
    before = outer.get_weights()
    assert recalibrate_batch_norm(model, batches_of((4, 3), seed=1)) == ()
    assert_array_equal(outer.get_weights(), before)
    nested = spoiled(stack((3,), inner, name="net"))
    assert recalibrate_batch_norm(nested, batches_of((4, 3))) == (inner.layers[0].path,)
    assert np.abs(inner.layers[0].moving_mean.numpy()).max() < 7


MEASURED = """
import resource, keras, numpy as np, tfaudit
x = images = keras.Input((256, 256, 1))
for _ in range(40):
    x = keras.layers.BatchNormalization()(x)
model = keras.Model(images, x)
def peak(count):
    tfaudit.recalibrate_batch_norm(model, np.ones((count, 256, 256, 1), "float32"), batches=1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
small = peak(2)
print(peak(128) - small)
"""


@pytest.mark.slow
def test_activations_are_forgotten_once_they_are_used(warm_python):
    """Each of 40 layers has 32 MiB of them."""
    done = subprocess.run([*warm_python, "-c", MEASURED], capture_output=True, check=True)
    assert float(done.stdout) < 400


def test_a_layer_that_is_called_twice_averages_over_both():
    shared, a, b = L.BatchNormalization(), keras.Input((2,), name="a"), keras.Input((2,), name="b")
    model = keras.Model([a, b], L.Add()([shared(a), shared(b)]))
    left, right = (batches_of((6, 2), seed=seed) for seed in (1, 2))
    recalibrate_batch_norm(model, [(pair, 0) for pair in zip(left, right, strict=True)])
    both = np.stack(left + right)
    assert_all_close(statistics(model), [both.mean((0, 1)), both.var(1).mean(0)], rtol=1e-5)


def two_inputs():
    keras.utils.set_random_seed(0)
    a, b = keras.Input((2,), name="a"), keras.Input((1,), name="b")
    return keras.Model(
        {"a": a, "b": b}, L.Dense(1)(L.BatchNormalization()(L.Concatenate()([a, b])))
    )


def batches_without_end(data):
    return tf.data.Dataset.from_tensor_slices(data).shuffle(40, seed=1).batch(8).repeat()


@pytest.mark.parametrize(
    "form",
    [
        lambda x, y: x,
        lambda x, y: (x, y),
        lambda x, y: batches_without_end((x, y)),
        lambda x, y: batches_without_end(x),
    ],
)
def test_several_inputs_in_every_form(form, rng):
    x = {"a": rng.normal(2, 3, (40, 2)), "b": rng.normal(size=(40, 1)).astype("float32")}
    model = two_inputs()
    recalibrate_batch_norm(model, form(x, np.arange(40)), batch_size=8)
    mean, _ = statistics(model)  # 20 batches of 8 are every example four times
    assert_allclose(mean, np.concatenate([*x.values()], axis=1).mean(0), rtol=1e-4)


SORTED = np.sort(np.random.default_rng(0).normal(5, 4, (500, 1)).astype("float32"), axis=0)


@pytest.mark.parametrize(
    "data",
    [
        lambda x: (x, np.zeros(500)),
        lambda x: np.split(x, 25),
        lambda x: ((part, None) for part in np.split(x, 100)),
        lambda x: tf.data.Dataset.from_tensor_slices((x, np.zeros(500))).batch(10),
    ],
)
def test_sorted_examples_are_drawn_at_random_by_a_seed(data):
    x = SORTED
    model = stack((1,), L.BatchNormalization())
    recalibrate_batch_norm(model, data(x), batch_size=50)
    mean, variance = statistics(model)  # every example four times
    assert_allclose(mean, x.mean(0), rtol=1e-4)
    assert 0.9 < variance / x.var() < 1  # of batches of 50, whose expectation is 49 / 50 of it
    for seed, same in ((0, True), (1, False)):
        recalibrate_batch_norm(spoiled(model), data(x), batch_size=50, seed=seed)
        assert np.array_equal(statistics(model)[1], variance) == same


@pytest.mark.parametrize(
    "settings", [{"dtype": "mixed_float16"}, {"dtype": "bfloat16"}, {"synchronized": True}]
)
def test_other_precisions_and_synchronized_layers(settings):
    plain, other = convolutional(), convolutional(**settings)
    data = batches_of((8, 6, 5, 2))
    for model in (plain, other):
        recalibrate_batch_norm(spoiled(model), data)
    found = [np.float32(value) for value in statistics(other)]
    assert_all_close(found, statistics(plain), rtol=2e-2, atol=2e-2)
    assert [value.dtype for value in statistics(other)] == [variable_type(settings)] * 4


def variable_type(settings):
    return tf.bfloat16.as_numpy_dtype if settings.get("dtype") == "bfloat16" else np.float32


@pytest.mark.parametrize(
    ("data", "settings", "message"),
    [
        (
            batches_of((4, 3), 19),
            {},
            "data: got 19 batches, expected 20 or more, or a smaller number of batches$",
        ),
        (np.zeros((0, 3)), {}, "data: got no examples, expected one example or more$"),
        (np.zeros((4, 3)), {"batches": 0}, "batches: got 0, expected 1 or more$"),
        (3, {}, "data: got int, expected an array, a data set or an iterable of batches$"),
    ],
)
def test_what_is_refused(data, settings, message):
    settings = {"model": stack((3,), L.BatchNormalization()), **settings}
    assert_refused(message, recalibrate_batch_norm, data=data, **settings)


def test_a_data_set_of_tfaudit_is_shuffled():
    data = load_dataset("digits", "train").take(200)
    model = stack((8, 8, 1), L.BatchNormalization())
    recalibrate_batch_norm(model, data, batch_size=50)
    assert_allclose(statistics(model)[0], [data.images.mean()], rtol=1e-4)
