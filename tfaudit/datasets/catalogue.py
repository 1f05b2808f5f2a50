"""Every data set by its name."""

from __future__ import annotations

from pathlib import Path

from tfaudit.datasets.builders import NOT_IN_TFDS, data_folder, find_builder
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.mock import MOCK_PREFIX
from tfaudit.errors import InputError
from tfaudit.quiet import quiet_tfds

__all__ = ["command_for", "is_here", "load_dataset"]


def load_dataset(
    name: str,
    split: str,
    *,
    data_dir: str | Path | None = None,
    image_size: int | None = None,
    crop: int | None = None,
) -> Dataset:
    """Load a split of a data set of labelled images, without a network.

    `digits` comes with tfaudit. Every other name is a set that TensorFlow Datasets has prepared on this machine, its
    own or one laid down by `tfaudit prepare`. Up to 600 MB of decoded pixels of one size are held in memory; larger
    sets stream. With `mock:` before its name, 64 made-up examples a split stand for a set that is not there.

    CelebA's class is blond or not, and its other attributes are groups ([F] 3). Of ImageNet only `"validation"` can be
    tested on; `tfaudit.datasets.tfds_overrides.test_split` knows.

    Args:
        name: `"digits"`, or a TFDS name with or without configuration and version: `"cifar10"`,
            `"mnist_corrupted/fog"`, `"mnist:3.0.1"`; either after `mock:`.
        split: A split's name, such as `"train"` or `"test"`; for TFDS sets also a slice, `"train[:80%]"`.
        data_dir: Folder of the prepared sets; by default the variable `TFDS_DATA_DIR` or `~/tensorflow_datasets`.
        image_size: Pixels that the shorter side is scaled to. `None` leaves the images as they are.
        crop: Edge of the middle square that is cut out then, in pixels; `image_size` by default. ImageNet is
            evaluated with 256 and 224.

    Returns:
        The split, examples in a fixed order.

    Raises:
        InputError: Unknown name or split, no labelled images, or a set that is not prepared; the line names the
            command that gets it.

    Example:
        >>> train = load_dataset("digits", "train")
        >>> train.num_examples, train.image_shape, train.in_memory
        (1197, (8, 8, 1), True)
    """
    for argument, pixels in (("image_size", image_size), ("crop", crop)):
        if pixels is not None and pixels < 1:
            raise InputError(f"{argument} is {pixels}; it must be at least 1 pixel")
    if image_size is not None and crop is not None and crop > image_size:
        raise InputError(f"crop is {crop}; it must be at most image_size, {image_size}")
    if name == "digits":
        from tfaudit.datasets.digits import digits

        if {image_size, crop} - {None, 8}:
            raise InputError(f"image_size is {image_size}, crop {crop}; 'digits' has 8 pixels and is not resized")
        return digits(split)
    from tfaudit.datasets.prepared import read_prepared

    return read_prepared(name, split, data_dir=data_dir, image_size=image_size, crop=crop, fix=command_for(name))


def is_here(name: str, *, data_dir: str | Path | None = None) -> bool:
    """Whether `load_dataset` finds the files of a set, without reading them.

    Raises:
        InputError: Nothing goes by the name.

    Example:
        >>> is_here("digits"), is_here("mock:imagenet2012")
        (True, True)
    """
    if name == "digits" or name.startswith(MOCK_PREFIX):
        return True
    if name in NOT_IN_TFDS and not (data_folder(data_dir) / name).is_dir():
        return False
    with quiet_tfds():
        return bool(find_builder(name, data_dir).is_prepared())


def command_for(name: str) -> str:
    """The command that gets a set."""
    from tfaudit.datasets.prepare import PREPARABLE

    base = name.partition(":")[0]
    if base in PREPARABLE:
        return f"tfaudit prepare {base} --from PATH"
    return f"python -c \"import tensorflow_datasets as tfds; tfds.builder('{name}').download_and_prepare()\""
