"""The fused operation against Keras' own and against the definition."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose, assert_array_equal

from tests.builders.small_stores import small_study
from tests.builders.stacks import stack
from tfaudit.datasets.loading import load_dataset
from tfaudit.population import training as training_module
from tfaudit.population.fused_batch_norm import fuse_batch_norm
from tfaudit.population.training import Trainer
from tfaudit.study.training import Training


def network(**settings):
    keras.utils.set_random_seed(0)
    images = keras.Input((6, 5, 3))
    x = keras.layers.BatchNormalization(name="bn", momentum=0.8, **settings)(images)
    model = keras.Model(images, keras.layers.Conv2D(2, 3, name="conv")(x))
    model.get_layer("bn").set_weights(
        [np.array(row, "f4") for row in ([2, 1, 3], [1, -1, 0], [5, 0, 0], [1, 2, 3])]
    )
    return model


def step(model, images):
    with tf.GradientTape() as tape:
        outputs = model(images, training=True)
        loss = tf.reduce_sum(outputs * tf.cos(outputs))
    return outputs, tape.gradient(loss, [v.value for v in model.trainable_variables])


@pytest.fixture
def images():
    return tf.constant(np.random.default_rng(0).normal(3, 2, (7, 6, 5, 3)).astype("f4"))


def test_a_training_step_is_that_of_keras(images):
    plain, fused = network(), network()
    fuse_batch_norm(fused)
    (ours, gradients), (theirs, expected) = step(fused, images), step(plain, images)
    assert_allclose(ours, theirs, atol=1e-4)
    for mine, other in zip(gradients, expected, strict=True):
        assert_allclose(mine, other, rtol=1e-3, atol=1e-3)
    for mine, other in zip(fused.get_weights(), plain.get_weights(), strict=True):
        assert_allclose(mine, other, rtol=1e-5, atol=1e-6)
    fused.set_weights(plain.get_weights())
    assert_array_equal(fused(images, training=False), plain(images, training=False))


@pytest.mark.parametrize("shape", [(7, 6, 5, 3), (1, 1, 1, 3)])
def test_moving_averages_by_their_definition(shape):
    layer = keras.layers.BatchNormalization(momentum=0.8)
    layer.build((None, None, None, 3))
    model = stack((None, None, 3), layer)
    fuse_batch_norm(model)
    images = np.random.default_rng(1).normal(3, 2, shape).astype("f4")
    outputs = model(images, training=True)
    mean, variance = images.mean((0, 1, 2)), images.var((0, 1, 2))
    assert_allclose(layer.moving_mean, 0.2 * mean, rtol=1e-5)
    assert_allclose(layer.moving_variance, 0.8 + 0.2 * variance, rtol=1e-5)
    assert_allclose(outputs, (images - mean) / np.sqrt(variance + 1e-3), atol=1e-4)


def test_in_mixed_precision_statistics_stay_in_float(images):
    plain, fused = (network(dtype="mixed_bfloat16") for _ in range(2))
    fuse_batch_norm(fused)
    ours, theirs = (model.get_layer("bn")(images, training=True) for model in (fused, plain))
    assert ours.dtype == theirs.dtype == tf.bfloat16
    assert_allclose(*(tf.cast(x, tf.float32) for x in (ours, theirs)), rtol=0.02, atol=0.02)
    for mine, other in zip(fused.get_weights(), plain.get_weights(), strict=True):
        assert mine.dtype == np.float32
        assert_allclose(mine, other, rtol=1e-5, atol=1e-6)
    (_, gradients), (_, expected) = step(fused, images), step(plain, images)
    for mine, other in zip(gradients, expected, strict=True):
        assert_allclose(mine, other, rtol=0.05, atol=0.05 * np.abs(other).max())


def test_frozen_layers_and_others_stay_as_they_are(images):
    frozen = network()
    frozen.get_layer("bn").trainable = False
    before = frozen.get_weights()
    expected = frozen(images, training=True)
    fuse_batch_norm(frozen)
    assert_array_equal(frozen(images, training=True), expected)
    assert all((a == b).all() for a, b in zip(before, frozen.get_weights(), strict=True))
    for settings in ({"axis": 1}, {"dtype": "float64"}):
        layer = keras.layers.BatchNormalization(**settings)
        fuse_batch_norm(stack((6, 5, 3), layer))
        assert "call" not in vars(layer)


@pytest.mark.slow
def test_members_train_as_without_it_and_their_files_are_ordinary(tmp_path, monkeypatch):
    plan = Training(steps=4, batch_size=16)
    study = small_study(model="cifar_convnet", training=plan, model_options={"filters": [4, 4]})
    data = load_dataset("digits", "train")
    weights = []
    for fuse in (fuse_batch_norm, lambda model: None):
        monkeypatch.setattr(training_module, "fuse_batch_norm", fuse)
        trainer = Trainer(study, plan, data)
        model = trainer.build(3)
        trainer.train(model, 3)
        weights.append(model.get_weights())
    for mine, other in zip(*weights, strict=True):
        assert_allclose(mine, other, rtol=1e-3, atol=1e-4)
    model.save(tmp_path / "m.keras")
    assert "call" not in vars(keras.saving.load_model(tmp_path / "m.keras").get_layer("bn1"))
