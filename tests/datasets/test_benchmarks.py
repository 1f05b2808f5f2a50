"""Benchmark sets: every one by its mock, their classes in the model's numbering, and what does not fit."""

import pytest
import tensorflow_datasets as tfds
from numpy.testing import assert_array_equal

from tests.builders.refusals import assert_refused
from tfaudit.datasets.benchmarks import (
    TrainedModel,
    check_benchmark,
    expand_wildcards,
    load_benchmark,
)
from tfaudit.datasets.catalogue import CATALOGUE, catalogue_entry
from tfaudit.datasets.catalogue import test_split as split_to_test
from tfaudit.datasets.loading import load_dataset
from tfaudit.datasets.mock import MOCK_EXAMPLES
from tfaudit.datasets.scaling import UNSCALED, Scaling
from tfaudit.study.conditions import benchmark_condition

IMAGENET = tuple(tfds.builder("imagenet2012", data_dir="/nowhere").info.features["label"].names)
TRAINED = {  # a set, the classes and the images of a model trained on it
    "imagenet2012": (IMAGENET, (32, 32, 3)),
    "cifar10": (
        ("plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
        (32, 32, 3),
    ),
    "mnist": (tuple("0123456789"), (28, 28, 1)),
}
SETS = {
    "imagenet2012_corrupted/fog_3": (None, "validation"),
    "cifar10_corrupted/frosted_glass_blur_1": (None, "test"),
    "mnist_corrupted/dotted_line": (None, "test"),
    "imagenet_v2/matched-frequency": (None, "test"),
    "imagenet_a": (None, "test"),
    "imagenet_r": (None, "test"),
    "imagenet_a/restricted": (8, "test"),
    "imagenet_r/restricted": (8, "test"),
}


def loaded(name, trained, **options):
    model = TrainedModel(trained, *TRAINED[trained])
    if trained == "imagenet2012":
        model = model._replace(scaling=Scaling(40, 32))
    check_benchmark(name, model)
    return load_benchmark(name, model, **options)


def test_every_set_with_a_parent_is_tested():
    assert {name.partition("/")[0] for name in SETS} == {
        name for name, entry in CATALOGUE.items() if entry.parent
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_the_sets_are_numbered_as_their_parents(name):
    allowed, split = SETS[name]
    assert split_to_test(name) == split
    mock = f"mock:{name}"
    parent = catalogue_entry(name).parent
    benchmark = loaded(mock, parent)
    assert benchmark_condition(mock).dataset == mock
    source = mock.removesuffix("/restricted")
    assert_array_equal(benchmark.labels, load_dataset(source, split).labels)
    assert benchmark.dataset.image_shape == TRAINED[parent][1]
    assert (
        benchmark.dataset.num_examples == len(set(benchmark.dataset.example_ids)) == MOCK_EXAMPLES
    )
    assert (
        benchmark.classes is None
        if allowed is None
        else benchmark.classes.tolist() == list(range(allowed))
    )


@pytest.mark.parametrize(
    "name", ["imagenet_a", "imagenet_r", "imagenet_v2", "imagenet2012_corrupted"]
)
def test_tfds_numbers_imagenets_relatives_as_imagenet(name):
    """All 1,000 names, by WordNet id, also where 200 of them have images."""
    assert tuple(tfds.builder(name, data_dir="/nowhere").info.features["label"].names) == IMAGENET
    assert len(IMAGENET) == 1000


def test_the_classes_that_may_be_answered_are_those_of_the_whole_set():
    few = loaded("mock:imagenet_a/restricted", "imagenet2012", limit=3)
    assert few.labels.tolist() == [0, 1, 2]
    assert few.dataset.num_examples == 3
    assert few.classes.tolist() == list(range(8))


def test_a_model_of_folders_by_wordnet_id_takes_the_set_by_names():
    """In another order, and with classes of its own."""
    names = ("aeroplane", *reversed(IMAGENET))
    benchmark = load_benchmark(
        "mock:imagenet_a/restricted", TrainedModel("photographs", names, (32, 32, 3), Scaling(32))
    )
    assert benchmark.labels.tolist()[:3] == [1000, 999, 998]
    assert benchmark.classes.tolist() == list(range(993, 1001))


@pytest.mark.slow
def test_images_of_the_models_shape_are_not_scaled():
    """ImageNet-C was cut to 224 pixels when it was made."""
    as_they_are = load_dataset("mock:imagenet2012_corrupted/fog_3", "validation").images
    model = TrainedModel("imagenet2012", IMAGENET, (224, 224, 3), Scaling(256, 224))
    benchmark = load_benchmark("mock:imagenet2012_corrupted/fog_3", model)
    assert_array_equal(benchmark.dataset.images, as_they_are)
    cut = load_benchmark("mock:imagenet_v2/topimages", model, limit=2)
    assert cut.dataset.image_shape == (224, 224, 3)


def test_all_configurations_that_are_here():
    names = expand_wildcards(["imagenet_a", "mock:mnist_corrupted/*", "mock:mnist_corrupted/fog"])
    assert len(names) == 1 + 16
    assert names[1] == "mock:mnist_corrupted/identity"
    assert len(expand_wildcards(["mock:cifar10_corrupted/*"])) == 19 * 5
    assert all(
        benchmark_condition(name).severity in range(1, 6)
        for name in expand_wildcards(["mock:cifar10_corrupted/*"])
    )


def test_only_configurations_that_are_prepared_count(write_metadata):
    write_metadata("mnist_corrupted/fog", test=12)
    assert expand_wildcards(["mnist_corrupted/*"]) == ("mnist_corrupted/fog",)
    none = r"'cifar10_corrupted/\*', with none of its 95 configurations prepared in"
    assert_refused(none, expand_wildcards, ["cifar10_corrupted/*"])
    unconfigured = r"/\*', expected 'imagenet_a', as data set 'imagenet_a' has no conf"
    assert_refused(unconfigured, expand_wildcards, ["imagenet_a/*"])


@pytest.mark.parametrize(
    ("name", "edge", "scaling", "message"),
    [
        (
            "mnist_corrupted/fog",
            32,
            UNSCALED,
            r"\(28, 28, 1\), expected the model's input, \(32, 32",
        ),
        ("mnist_corrupted/fog", 32, Scaling(30), r"\(28, 28, 1\), expected the model's input, "),
        ("imagenet_a", 224, UNSCALED, r"\(None, None, 3\), expected the model's input"),
    ],
)
def test_images_that_do_not_become_the_models_are_refused(name, edge, scaling, message):
    parent = catalogue_entry(name).parent
    model = TrainedModel(parent, TRAINED[parent][0], (edge, edge, 3), scaling)
    assert_refused(f"with images {message}", check_benchmark, f"mock:{name}", model)


@pytest.mark.parametrize(
    ("name", "trained", "message"),
    [
        ("imagenet_a", "imagenet2012", "benchmarks: got 'imagenet_a', which is not prepared in .*: python -c"),

        ("imagenet_v2/restricted", "imagenet2012", "got 'imagenet_v2/restricted', expected a configuration of"),



        ("mock:cifar10_corrupted/fog_1", "mnist", "classes have no names and are numbered as those of 'cifar10'"),
        ("mock:fashion_mnist", "mnist", "'mock:fashion_mnist' with 10 classes such as 'T-shirt/top', expected some"),
        ("mock:mnist_corrupted/fog", "cifar10", "10 classes such as '0', expected some of the 10 of 'cifar10'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_line(name, trained, message):
    assert_refused(message, loaded, name, trained)
