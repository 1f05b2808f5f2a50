"""What tfaudit knows of single TFDS sets beyond their own description: one line a set."""

from __future__ import annotations

import string
from dataclasses import dataclass

__all__ = ["KNOWN", "Known", "test_split"]


@dataclass(frozen=True)
class Known:
    """What a set's own description leaves open or says otherwise.

    Attributes:
        label: Where the class stands in an example, key by key; `()`: the feature of type ClassLabel.
        class_names: By label; `()`: the names of the set itself.
        left_out: Features that are no groups of examples.
        test: The split that is tested on.
    """

    label: tuple[str, ...] = ()
    class_names: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    test: str = "test"


KNOWN = {
    # [F] 3, appendix B: blond or not; the other 39 attributes and the person are groups.
    "celeb_a": Known(("attributes", "Blond_Hair"), ("non-blond", "blond"), left_out=("landmarks",)),
    # The mapping file of EMNIST: digits, capitals, small letters.
    "emnist/byclass": Known(class_names=tuple(string.digits + string.ascii_uppercase + string.ascii_lowercase)),
    # Its test split has no labels, so everyone tests on the validation split.
    "imagenet2012": Known(test="validation"),
    "imagenet2012_corrupted": Known(test="validation"),
}


def test_split(name: str) -> str:
    """The split of a set that has labels and that nothing is trained on.

    Args:
        name: As `load_dataset` takes it.

    Example:
        >>> test_split("imagenet2012"), test_split("cifar10")
        ('validation', 'test')
    """
    return known(name).test


def known(name: str) -> Known:
    """The entry of a set or of all its configurations, whatever its version and whether or not it is a mock."""
    name = name.removeprefix("mock:").partition(":")[0]
    return KNOWN.get(name, KNOWN.get(name.partition("/")[0], Known()))
