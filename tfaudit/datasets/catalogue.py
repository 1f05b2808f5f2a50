"""Every data set by its name."""

from __future__ import annotations

from pathlib import Path

from tfaudit.datasets.dataset import Dataset
from tfaudit.errors import InputError

__all__ = ["load_dataset"]


def load_dataset(
    name: str, split: str, *, data_dir: str | Path | None = None, image_size: int | None = None
) -> Dataset:
    """Load a split of a data set of labelled images, without a network.

    `digits` comes with tfaudit. Every other name is a set that TensorFlow Datasets has prepared on this machine, its
    own or one laid down by `tfaudit prepare`. Up to 512 MB of decoded pixels of one size are held in memory; larger
    sets stream.

    Args:
        name: `"digits"`, or a TFDS name with or without configuration and version: `"cifar10"`,
            `"mnist_corrupted/fog"`, `"mnist:3.0.1"`.
        split: A split's name, such as `"train"` or `"test"`; for TFDS sets also a slice, `"train[:80%]"`.
        data_dir: Folder of the prepared sets; by default the variable `TFDS_DATA_DIR` or `~/tensorflow_datasets`.
        image_size: Edge in pixels: the shorter side is scaled to it and the middle square kept. `None` leaves the
            images as they are.

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
    if image_size is not None and image_size < 1:
        raise InputError(f"image_size is {image_size}; it must be at least 1 pixel")
    if name == "digits":
        from tfaudit.datasets.digits import digits

        if image_size not in (None, 8):
            raise InputError(f"image_size is {image_size}; 'digits' has 8 pixels and is not resized")
        return digits(split)
    from tfaudit.datasets.prepared import read_prepared

    return read_prepared(name, split, data_dir, image_size, fix=_command_for(name))


def _command_for(name: str) -> str:
    from tfaudit.datasets.prepare import PREPARABLE

    base = name.partition(":")[0]
    if base in PREPARABLE:
        return f"tfaudit prepare {base} --from PATH"
    return f"python -c \"import tensorflow_datasets as tfds; tfds.builder('{name}').download_and_prepare()\""
