"""The catalogue: one entry per data set about which tfaudit knows more than TensorFlow Datasets does."""

import importlib
import string
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfaudit.datasets.cifar import cifar10_files
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.digits import digits
from tfaudit.datasets.idx import idx_files
from tfaudit.datasets.local_files import LocalFiles

MOCK_PREFIX = "mock:"
"""`mock:imagenet2012` is a data set of the structure of `imagenet2012` that needs no files."""


@dataclass(frozen=True)
class CatalogueEntry:
    """Facts about a data set beyond its description in TensorFlow Datasets (TFDS)."""

    # Loads a split of a set that comes with tfaudit.
    embedded: Callable[[str], Dataset] | None = None
    # reads published files for `tfaudit prepare`, given their folder and the set's TFDS builder
    files: Callable[[Path, Any], LocalFiles] | None = None
    # makes the features of a set that TFDS lacks; `files` then gets None as builder
    features: Callable[[], Any] | None = None
    # Path of keys to the class in an example; `()`: the feature of type ClassLabel.
    label: tuple[str, ...] = ()
    # Names of the classes by label; `()`: the names that TFDS has.
    class_names: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # features that are not groups of examples
    test: str = "test"  # split to test on
    parent: str | None = None  # for a benchmark set, the data set that numbers classes alike
    # False for a benchmark set with images of only some of its parent's classes; `NAME/restricted` predicts these only.
    shows_all_classes: bool = True
    # False if TFDS calls the classes "0" to "9" although they have names.
    names_classes: bool = True


def _of_recipe(module: str, name: str) -> Callable[..., Any]:
    """Return a function of a module beside the recipes that use the data set, which the first call imports."""

    def call(*arguments: Any) -> Any:
        return getattr(importlib.import_module(f"tfaudit.recipes.{module}"), name)(*arguments)

    return call


CATALOGUE = {
    "digits": CatalogueEntry(embedded=digits),
    **dict.fromkeys(("mnist", "fashion_mnist", "kmnist"), CatalogueEntry(files=idx_files)),
    # The mapping file of EMNIST: digits, capitals, small letters.
    "emnist/byclass": CatalogueEntry(
        files=idx_files,
        class_names=tuple(string.digits + string.ascii_uppercase + string.ascii_lowercase),
    ),
    **{
        f"emnist/{part}": CatalogueEntry(files=idx_files)
        for part in ["bymerge", "balanced", "letters", "digits", "mnist"]
    },
    "cifar10": CatalogueEntry(files=cifar10_files),
    "cifar10_subclasses": CatalogueEntry(
        files=_of_recipe("_cifar_subclasses", "cifar10_subclass_files"),
        features=_of_recipe("_cifar_subclasses", "cifar10_subclass_features"),
    ),
    "qmnist": CatalogueEntry(
        files=_of_recipe("_qmnist", "qmnist_files"),
        features=_of_recipe("_qmnist", "qmnist_features"),
    ),
    # [F] 3, appendix B: blond or not; the other 39 attributes and the person are groups.
    "celeb_a": CatalogueEntry(
        label=("attributes", "Blond_Hair"),
        class_names=("non-blond", "blond"),
        left_out=("landmarks",),
    ),
    # The test split has no labels, so everyone tests on the validation split.
    "imagenet2012": CatalogueEntry(test="validation"),
    # Benchmark sets.
    "imagenet2012_corrupted": CatalogueEntry(test="validation", parent="imagenet2012"),
    "imagenet_a": CatalogueEntry(parent="imagenet2012", shows_all_classes=False),
    "imagenet_r": CatalogueEntry(parent="imagenet2012", shows_all_classes=False),
    "imagenet_v2": CatalogueEntry(parent="imagenet2012"),
    "cifar10_corrupted": CatalogueEntry(parent="cifar10", names_classes=False),
    "mnist_corrupted": CatalogueEntry(parent="mnist"),
}
"""Data sets by TFDS name, for a single configuration or for all configurations of a data set."""

PREPARABLE = tuple(name for name, entry in CATALOGUE.items() if entry.files)
"""Names whose published files `prepare` reads; any name that TFDS does not know takes a folder of images per class."""


def base_name(name: str) -> str:
    """Return a data set's name without `mock:` and version.

    Example:
        >>> base_name("mock:mnist_corrupted/fog"), base_name("mnist:3.0.1")
        ('mnist_corrupted/fog', 'mnist')
    """
    return name.removeprefix(MOCK_PREFIX).partition(":")[0]


def catalogue_entry(name: str) -> CatalogueEntry:
    """Return the entry of a data set or of all its configurations; a version and `mock:` make no difference.

    Example:
        >>> catalogue_entry("mock:cifar10_corrupted/fog_3").parent, catalogue_entry("cifar100").parent
        ('cifar10', None)
    """
    name = base_name(name)
    return CATALOGUE.get(name) or CATALOGUE.get(name.partition("/")[0]) or CatalogueEntry()


def test_split(name: str) -> str:
    """Return the split to test on, which has labels and is not trained on; `name` is as for `load_dataset`.

    Example:
        >>> test_split("imagenet2012"), test_split("cifar10")
        ('validation', 'test')
    """
    return catalogue_entry(name).test
