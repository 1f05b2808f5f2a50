"""Members' models one after another in one model: the same bits as if loaded separately."""

import keras
import numpy as np
import pytest
from keras import layers
from numpy.testing import assert_array_equal

from tests.builders.refusals import assert_refused
from tests.builders.small_stores import save_member, small_study
from tfaudit import Pruned, Quantized, predict, quantize
from tfaudit.population.member import model_bytes
from tfaudit.population.stored_models import StoredModels, _description
from tfaudit.stats.ranking import RankedClasses
from tfaudit.store.store import Store

STUDY = small_study(variants=(Pruned(0.5), Quantized("int8")), population=2)
IMAGES = np.random.default_rng(0).integers(0, 256, (50, 8, 8, 1), dtype=np.uint8)


def net(seed, activation="relu", end="logits"):
    """Has state beside its weights, and layers that share an object."""
    keras.utils.set_random_seed(seed)
    start = keras.initializers.HeNormal()
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1), name="images"),
            layers.Conv2D(3, 3, activation=activation, kernel_initializer=start, name="conv"),
            layers.BatchNormalization(name="norm"),
            layers.Dropout(0.5, name="dropout"),
            layers.Flatten(name="flatten"),
            layers.Dense(10, kernel_initializer=start, name=end),
        ],
        name="net",
    )
    model.layers[1].moving_mean.assign(keras.random.normal((3,), seed=seed))
    return model


def store_with(tmp_path, models):
    """Models by variant and member; bytes are flatbuffers."""
    store = Store.create(tmp_path / "s", STUDY, {})
    for (variant, member), model in models.items():
        ranked = RankedClasses(np.zeros((1, 1), int))
        if isinstance(model, bytes):
            save_member(store, variant, member, ranked, model, "model.tflite")
        else:
            save_member(store, variant, member, ranked, model_bytes(model))
    return store


@pytest.mark.slow
def test_predictions_equal_those_of_the_models_bit_by_bit_in_one_model(tmp_path):
    models = {
        ("dense", 0): net(0),
        ("dense", 1): net(1),
        ("magnitude-0.5", 0): net(2, end="logits_2"),
    }
    models["int8", 0] = quantize(models["dense", 0], "int8", representative=IMAGES)
    alone = {pair: predict(model, IMAGES) for pair, model in models.items()}
    stored = StoredModels(store_with(tmp_path, models))
    for pair in [*models, *reversed(models)]:
        opened = stored.open(*pair)
        for ours, theirs in zip(predict(opened, IMAGES), alone[pair], strict=True):
            assert_array_equal(ours, theirs)
        if pair[0] != "int8":
            assert opened is stored.open("dense", 0)
    first, second = alone["dense", 0][1], alone["dense", 1][1]
    assert (first != second).any(), "members that cannot be told apart prove nothing"


@pytest.mark.slow
def test_another_architecture_is_loaded_as_a_new_model(tmp_path):
    models = {("dense", 0): net(0), ("dense", 1): net(0, activation="tanh")}  # the very weights
    stored = StoredModels(store_with(tmp_path, models))
    for pair in [*models, *models]:
        assert_array_equal(predict(stored.open(*pair), IMAGES)[1], predict(models[pair], IMAGES)[1])


def test_the_same_layers_put_together_otherwise_are_another_model():
    described, relu = set(), keras.activations.relu
    for ends in ((relu, keras.activations.linear), (keras.activations.linear, relu)):
        images = keras.Input((4,), name="images")
        model = keras.Model(
            images,
            layers.Subtract()([layers.Activation(end)(layers.Dense(4)(images)) for end in ends]),
        )
        described.add(_description(model_bytes(model)))
    assert len(described) == 2


def test_a_damaged_model_file_is_refused(tmp_path):
    store = store_with(tmp_path, {("dense", 0): net(0)})
    path = store.directory / store.member_path("dense", 0, "model.keras")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert_refused(
        r"members: got a file that does not match its checksum, .*model.keras",
        StoredModels(store).open,
        "dense",
        0,
    )
