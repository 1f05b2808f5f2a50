"""Benchmark sets: every one by its mock, their classes in the model's numbering, and what does not fit."""

import numpy as np
import pytest
import tensorflow_datasets as tfds

from tfaudit.datasets.benchmarks import Trained, check_benchmark, load_benchmark, named_sets
from tfaudit.datasets.catalogue import load_dataset
from tfaudit.datasets.mock import MOCK_EXAMPLES
from tfaudit.datasets.tfds_overrides import test_split as split_to_test
from tfaudit.errors import InputError
from tfaudit.study.conditions import PARENTS, benchmark_condition

IMAGENET = tuple(tfds.builder("imagenet2012", data_dir="/nowhere").info.features["label"].names)
TRAINED = {  # a set, the classes and the images of a model trained on it
    "imagenet2012": (IMAGENET, (32, 32, 3)),
    "cifar10": (("plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"), (32, 32, 3)),
    "mnist": (tuple("0123456789"), (28, 28, 1)),
}
SETS = {
    "imagenet2012_corrupted/fog_3": (None, "validation"),
    "cifar10_corrupted/frosted_glass_blur_1": (None, "test"),
    "mnist_corrupted/dotted_line": (None, "test"),
    "imagenet_v2/matched-frequency": (None, "test"),
    "imagenet_a": (8, "test"),
    "imagenet_r": (8, "test"),
}


def loaded(name, trained, **options):
    model = Trained(trained, *TRAINED[trained])
    if trained == "imagenet2012":
        model = model._replace(image_size=40, crop=32)
    check_benchmark(name, model)
    return load_benchmark(name, model, **options)


def test_every_set_with_a_parent_is_tested():
    assert {name.partition("/")[0] for name in SETS} == set(PARENTS)


@pytest.mark.parametrize("name", SETS)
def test_the_sets_are_numbered_as_their_parents(name):
    allowed, split = SETS[name]
    assert split_to_test(name) == split
    mock = f"mock:{name}"
    found = loaded(mock, PARENTS[name.partition("/")[0]])
    assert benchmark_condition(mock).dataset == mock
    np.testing.assert_array_equal(found.labels, load_dataset(mock, split).labels)
    assert found.dataset.image_shape == TRAINED[PARENTS[name.partition("/")[0]]][1]
    assert found.dataset.num_examples == len(set(found.dataset.example_ids)) == MOCK_EXAMPLES
    assert found.classes is None if allowed is None else found.classes.tolist() == list(range(allowed))


@pytest.mark.parametrize("name", ["imagenet_a", "imagenet_r", "imagenet_v2", "imagenet2012_corrupted"])
def test_tfds_numbers_imagenets_relatives_as_imagenet(name):
    """All 1,000 names, by WordNet id, also where 200 of them have images."""
    assert tuple(tfds.builder(name, data_dir="/nowhere").info.features["label"].names) == IMAGENET
    assert len(IMAGENET) == 1000


def test_the_classes_that_may_be_answered_are_those_of_the_whole_set():
    few = loaded("mock:imagenet_a", "imagenet2012", limit=3)
    assert few.labels.tolist() == [0, 1, 2]
    assert few.dataset.num_examples == 3
    assert few.classes.tolist() == list(range(8))


def test_a_model_of_folders_by_wordnet_id_takes_the_set_by_names():
    """In another order, and with classes of its own."""
    names = ("aeroplane", *reversed(IMAGENET))
    found = load_benchmark("mock:imagenet_a", Trained("photographs", names, (32, 32, 3), image_size=32))
    assert found.labels.tolist()[:3] == [1000, 999, 998]
    assert found.classes.tolist() == list(range(993, 1001))


def test_classes_of_a_set_with_fewer_of_them_are_all_that_may_be_answered():
    names = ("blank", *"9876543210")
    found = load_benchmark("mock:mnist_corrupted/fog", Trained("folder", names, (28, 28, 1)))
    assert found.labels.tolist()[:3] == [10, 9, 8]
    assert found.classes.tolist() == list(range(1, 11))


def test_images_of_the_models_shape_are_not_scaled():
    """ImageNet-C was cut to 224 pixels when it was made."""
    as_they_are = load_dataset("mock:imagenet2012_corrupted/fog_3", "validation").images
    model = Trained("imagenet2012", IMAGENET, (224, 224, 3), image_size=256, crop=224)
    found = load_benchmark("mock:imagenet2012_corrupted/fog_3", model)
    np.testing.assert_array_equal(found.dataset.images, as_they_are)
    cut = load_benchmark("mock:imagenet_v2/topimages", model, limit=2)
    assert cut.dataset.image_shape == (224, 224, 3)


def test_all_configurations_that_are_here():
    found = named_sets(["imagenet_a", "mock:mnist_corrupted/*", "mock:mnist_corrupted/fog"])
    assert len(found) == 1 + 16
    assert found[1] == "mock:mnist_corrupted/identity"
    assert len(named_sets(["mock:cifar10_corrupted/*"])) == 19 * 5
    assert all(benchmark_condition(name).severity in range(1, 6) for name in named_sets(["mock:cifar10_corrupted/*"]))


def test_only_configurations_that_are_prepared_count(lay_metadata, monkeypatch):
    folder = lay_metadata("mnist_corrupted/fog", test=12)
    monkeypatch.setenv("TFDS_DATA_DIR", str(folder))
    assert named_sets(["mnist_corrupted/*"]) == ("mnist_corrupted/fog",)
    with pytest.raises(InputError, match=r"'cifar10_corrupted/\*', but none of its 95 .* is prepared in .*; get the"):
        named_sets(["cifar10_corrupted/*"])


@pytest.mark.parametrize(
    ("name", "trained", "message"),
    [
        ("imagenet_a", "imagenet2012", "benchmarks: 'imagenet_a' is not prepared in .*; get it with: python -c"),
        ("no_such_set", "mnist", "no data set has it"),
        ("cifar10_corrupted/mist_3", "cifar10", "has no such variant"),
        ("mock:cifar10", "imagenet2012", "'mock:cifar10' has 10 classes such as '0', which are not among the 1000"),
        ("mock:cifar10_corrupted/fog_1", "mnist", "classes without names, numbered as those of 'cifar10'"),
        ("mock:fashion_mnist", "mnist", "'mock:fashion_mnist' has 10 classes such as 'T-shirt/top', which are not"),
        ("mock:mnist_corrupted/fog", "cifar10", "10 classes such as '0', which are not among the 10 of 'cifar10'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_line(name, trained, message, monkeypatch, tmp_path):
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path))
    with pytest.raises(InputError, match=message) as caught:
        loaded(name, trained)
    assert "\n" not in str(caught.value)


def test_images_that_do_not_become_the_models_are_refused():
    names = TRAINED["mnist"][0]
    for options in ({}, {"image_size": 30}):
        with pytest.raises(InputError, match=r"has images \(28, 28, 1\), and the model takes \(32, 32, 3\)"):
            check_benchmark("mock:mnist_corrupted/fog", Trained("mnist", names, (32, 32, 3), **options))
    with pytest.raises(InputError, match=r"has images \(None, None, 3\), and the model takes"):
        check_benchmark("mock:imagenet_a", Trained("imagenet2012", IMAGENET, (224, 224, 3)))


def test_a_set_without_configurations_has_no_wildcard():
    with pytest.raises(InputError, match=r"'imagenet_a/\*', but data set 'imagenet_a' has no configurations"):
        named_sets(["imagenet_a/*"])
