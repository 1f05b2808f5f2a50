"""Evaluation in one process: every missing member, the predictions of `predict`, and failures."""

import dataclasses
import io

import keras
import numpy as np
import pytest
from keras import layers
from numpy.testing import assert_array_equal
from PIL import Image

from tests.builders.small_stores import save_examples, save_member, small_study
from tfaudit import corrupt, predict
from tfaudit.datasets.loading import load_dataset
from tfaudit.population.evaluation import Evaluator
from tfaudit.population.member import model_bytes
from tfaudit.population.stored_examples import load_test
from tfaudit.stats.ranking import RankedClasses
from tfaudit.store.store import Store
from tfaudit.study.conditions import Condition

STUDY = small_study(
    dataset="mock:mnist",
    model="lenet_r",
    variants=(),
    top_k=3,
    limit=20,
    corruptions=("shot_noise",),
    severities=(2,),
    benchmarks=("mock:mnist_corrupted/fog", "mock:mnist_corrupted/stripe"),
)
SHOT, FOG, STRIPE = STUDY.conditions


def net(seed, classes=10, shape=(28, 28, 1)):
    keras.utils.set_random_seed(seed)
    parts = [keras.Input(shape), layers.Flatten(), layers.Dense(classes, name="logits")]
    return keras.Sequential(parts, name="net")


def add_member(store, member, model):
    save_member(store, "dense", member, RankedClasses(np.zeros((20, 3), int)), model_bytes(model))


def begun(study, directory):
    """Return a store with a test set and no members."""
    store, test = Store.create(directory, study, {}), load_test(study)
    images = [b""] * test.num_examples
    store.save_examples("test", test.labels, test.example_ids.tolist(), test.class_names, images)
    return store


@pytest.fixture
def store(tmp_path):
    store = begun(STUDY, tmp_path / "s")
    for member in range(3):
        add_member(store, member, net(member))
    return store


def evaluate(store, condition, evaluator=None):
    told = []
    evaluator = evaluator or Evaluator(store)
    evaluator.prepare(condition)
    evaluator.evaluate(condition, told.append)
    return told


@pytest.mark.slow
def test_evaluations_equal_predict_on_the_corrupted_test_set(store):
    assert evaluate(store, SHOT) == [2, 1, 0]
    test = load_dataset("mock:mnist", "test").take(20)
    images = corrupt(test.images, "shot_noise", 2, seed=STUDY.seed)
    predictions = store.predictions("dense", SHOT.split)
    for member in range(3):
        ranked, probabilities = predict(net(member), images, k=3)
        assert_array_equal(predictions.ranked[member], ranked)
        assert_array_equal(predictions.probabilities[member], probabilities)
    assert_array_equal(predictions.labels, test.labels)
    assert not list((store.directory / "examples").glob("shot*")), (
        "corrupted images are never stored"
    )
    assert store.conditions == (SHOT,)


@pytest.mark.slow
def test_only_missing_evaluations_are_made(store):
    evaluate(store, SHOT)
    intact = store.directory / store.prediction_path("dense", 0, SHOT.split)
    damaged = store.directory / store.prediction_path("dense", 1, SHOT.split)
    before, content = intact.stat().st_mtime_ns, damaged.read_bytes()
    damaged.write_bytes(content[:-1])
    add_member(store, 2, net(7))
    assert evaluate(store, SHOT) == [1, 0]
    assert intact.stat().st_mtime_ns == before
    assert damaged.read_bytes() == content, "the same bits again"
    assert evaluate(store, SHOT) == []
    images = corrupt(load_dataset("mock:mnist", "test").images[:20], "shot_noise", 2)
    assert_array_equal(
        store.predictions("dense", SHOT.split).ranked[2], predict(net(7), images, k=3)[0]
    )


@pytest.mark.slow
def test_the_examples_of_a_benchmark_set_are_stored(store):
    evaluate(store, FOG)
    examples = store.examples(FOG.split)
    theirs = load_dataset("mock:mnist_corrupted/fog", "test").take(20)
    assert examples["example"].tolist() == theirs.example_ids.tolist()
    assert examples["label"].tolist() == theirs.labels.tolist()
    assert examples.attrs["class_names"] == store.examples("test").attrs["class_names"]
    assert_array_equal(
        np.asarray(Image.open(io.BytesIO(examples["image"][3]))), theirs.images[3, ..., 0]
    )
    predictions = store.predictions("dense", FOG.split)
    assert_array_equal(predictions.ranked[1], predict(net(1), theirs.images, k=3)[0])


@pytest.mark.slow
def test_evaluations_are_made_again_if_the_set_changed(store):
    evaluate(store, FOG)
    before = store.predictions("dense", FOG.split).ranked
    examples = store.examples(FOG.split)
    save_examples(store, FOG.split, labels=examples["label"].to_numpy()[::-1], names="0123456789")
    store.evaluations.save("dense", 0, FOG.split, RankedClasses(before[0][::-1]))  # in that order
    (store.directory / store.prediction_path("dense", 1, FOG.split)).unlink()
    assert evaluate(store, FOG) == [2, 1, 0]
    assert_array_equal(store.predictions("dense", FOG.split).ranked, before)


@pytest.mark.slow
def test_a_set_with_severities_stores_no_images(tmp_path):
    study = dataclasses.replace(
        STUDY, dataset="mock:cifar10", benchmarks=("mock:cifar10_corrupted/snow_4",), corruptions=()
    )
    store = begun(study, tmp_path / "s")
    evaluate(store, Condition("mock:cifar10_corrupted/snow", 4))
    examples = store.examples("mock.cifar10_corrupted.snow-4")
    assert set(examples["image"]) == {b""}
    assert len(examples) == 20


@pytest.mark.slow
def test_a_member_that_cannot_be_evaluated_does_not_stop_the_others(store):
    broken = net(1)
    broken.get_layer("logits").bias.assign(np.full(10, np.nan))
    add_member(store, 1, broken)
    with pytest.raises(RuntimeError, match="dense/001: model: got scores of NaN or infinity"):
        evaluate(store, SHOT)
    assert store.predictions("dense", SHOT.split).members == (0, 2)
    model = store.directory / store.member_path("dense", 0, "model.keras")
    model.write_bytes(b"damaged")
    store.evaluations.delete(SHOT.split)
    with pytest.raises(
        RuntimeError,
        match=r"dense/000 and 1 more: members: got a file that does not match its check",
    ):
        evaluate(store, SHOT)
    assert store.predictions("dense", SHOT.split).members == (2,)


@pytest.mark.slow
def test_predictions_are_restricted_to_200_of_1000_classes(tmp_path):
    """8 of them have images in the mock."""
    names = {"dataset": "mock:imagenet2012", "model": "resnet50", "variants": ()}
    study = small_study(**names, benchmarks=("mock:imagenet_a/restricted",), image_size=28)
    store = begun(study, tmp_path / "s")
    add_member(store, 0, net(0, 1000, (28, 28, 3)))
    evaluate(store, study.conditions[0])
    predictions = store.predictions("dense", "mock.imagenet_a.restricted")
    assert predictions.ranked.max() < 8
    assert len(predictions.class_names) == 1000
    assert set(predictions.labels.tolist()) == set(range(8))
    assert (np.diff(predictions.probabilities[0], axis=1) <= 0).all()
    assert (predictions.probabilities.sum(axis=2) <= 1 + 1e-5).all()
