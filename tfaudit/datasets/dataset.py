"""What every data set looks like, wherever it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tfaudit.datasets.cropping import scaled_within
from tfaudit.datasets.encoded_images import Encoded
from tfaudit.datasets.pixel_moments import channel_moments
from tfaudit.errors import InputError
from tfaudit.quiet import start_tensorflow

if TYPE_CHECKING:
    import tensorflow as tf

__all__ = ["Dataset", "as_text", "check_labels"]

MOMENT_EXAMPLES = 2_000
"""A streaming set's moments are taken over its first so many examples."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled images in a fixed order; in memory when `pixels` is given, else read anew from `stream`.

    Attributes:
        name: The set's name, as `load_dataset` takes it.
        split: The split's name, such as `"test"`.
        class_names: Name of every class, by label.
        image_shape: `(H, W, C)`; `None` where the images vary.
        num_examples: N.
        pixels: uint8 `(N, H, W, C)`, or `None` for a streaming set.
        stream: Makes a `tf.data.Dataset` of single `(image, label, example id)` in the fixed order.
        encoded: How a prepared streaming set is read from its files; training shuffles and cuts there.
        label_stream: The same as `(label, example id, groups)`, without decoding the images; groups by column.
        known_labels: int64 `(N,)`; given with `pixels`.
        known_ids: str `(N,)`; given with `pixels`.
        known_groups: Columns `(N,)` beside the label, such as the writer of a digit; may go with `pixels`.
    """

    name: str
    split: str
    class_names: tuple[str, ...] = field(repr=False)
    image_shape: tuple[int | None, int | None, int | None]
    num_examples: int
    pixels: np.ndarray | None = field(default=None, repr=False)
    stream: Callable[[], tf.data.Dataset] | None = field(default=None, repr=False)
    label_stream: Callable[[], tf.data.Dataset] | None = field(default=None, repr=False)
    encoded: Encoded | None = field(default=None, repr=False)
    known_labels: np.ndarray | None = field(default=None, repr=False)
    known_ids: np.ndarray | None = field(default=None, repr=False)
    known_groups: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)

    @property
    def num_classes(self) -> int:
        """How many classes the set has, whether or not this split shows them all."""
        return len(self.class_names)

    @property
    def in_memory(self) -> bool:
        """Whether `images` is there; a streaming set has only `batches`."""
        return self.pixels is not None

    @property
    def images(self) -> np.ndarray:
        """The images, uint8 `(N, H, W, C)`.

        Raises:
            InputError: The set streams.
        """
        if self.pixels is None:
            raise InputError(f"images of {self.name!r} do not fit in memory; read them with batches(batch_size)")
        return self.pixels

    @property
    def labels(self) -> np.ndarray:
        """The labels, int64 `(N,)`; a streaming set is read once for them."""
        return self._beside_images[0]

    @property
    def example_ids(self) -> np.ndarray:
        """A stable name of every example, str `(N,)`; a streaming set is read once for them."""
        return self._beside_images[1]

    @property
    def groups(self) -> pd.DataFrame:
        """N rows: what else the set knows of every example, such as writer or attribute; no columns where nothing."""
        columns = self._beside_images[2]
        return pd.DataFrame({name: columns[name] for name in sorted(columns)}, index=range(self.num_examples))

    @cached_property
    def _beside_images(self) -> tuple[np.ndarray, np.ndarray, Mapping[str, np.ndarray]]:
        if self.known_labels is not None and self.known_ids is not None:
            return self.known_labels, self.known_ids, self.known_groups
        columns = list(self._label_stream().batch(4096).as_numpy_iterator())
        labels = np.concatenate([labels for labels, _, _ in columns])
        ids = np.concatenate([names for _, names, _ in columns]).astype(str)
        check_labels(self.name, self.split, labels, self.num_classes)
        groups = {key: np.concatenate([groups[key] for _, _, groups in columns]) for key in columns[0][2]}
        return labels, ids, {key: as_text(values) for key, values in groups.items()}

    def _stream(self) -> tf.data.Dataset:
        if self.stream is None:
            raise InputError(f"data set {self.name!r} has neither pixels nor a stream; give one of them")
        return self.stream()

    def _label_stream(self) -> tf.data.Dataset:
        if self.label_stream is None:
            return self._stream().map(lambda image, label, name: (label, name, {}))
        return self.label_stream()

    def batches(self, batch_size: int) -> tf.data.Dataset:
        """A `tf.data.Dataset` of float32 pixels 0..255 `(B, H, W, C)` and int64 labels `(B,)`, in order, once.

        Raises:
            InputError: `batch_size` is below 1, or the images vary in size.
        """
        import tensorflow as tf

        if batch_size < 1:
            raise InputError(f"batch_size is {batch_size}; it must be at least 1")
        if self.pixels is not None:
            # One tensor cut by ranges: slicing example by example costs twenty times as much.
            with tf.device("CPU:0"):  # tf.data runs there, also where there is a GPU
                images, labels = tf.constant(self.pixels), tf.constant(self.labels)
            starts = tf.data.Dataset.range(0, self.num_examples, batch_size)
            batches = starts.map(lambda i: (images[i : i + batch_size], labels[i : i + batch_size]))
        else:
            batches = self.examples().batch(batch_size)
        return batches.map(lambda pixels, classes: (tf.cast(pixels, tf.float32), classes)).prefetch(2)

    def examples(self) -> tf.data.Dataset:
        """A streaming set's single uint8 images `(H, W, C)` and labels, in the fixed order, once.

        Raises:
            InputError: The images vary in size.
        """
        self.fixed_shape()
        return self._stream().map(lambda image, label, name: (image, label))

    def fixed_shape(self) -> tuple[int, int, int]:
        """`image_shape`, all of it numbers.

        Raises:
            InputError: The images vary in size.
        """
        height, width, channels = self.image_shape
        if height is None or width is None or channels is None:
            raise InputError(
                f"images of {self.name!r} vary in size {self.image_shape}; "
                f"give them one with load_dataset({self.name!r}, {self.split!r}, image_size=224)"
            )
        return height, width, channels

    def head(self, n: int) -> np.ndarray:
        """The first n images, uint8 `(min(n, N), H, W, C)`: representative images for quantization."""
        if n < 1:
            raise InputError(f"n is {n}; it must be at least 1")
        if self.pixels is not None:
            return self.pixels[:n]
        return next(iter(self.examples().batch(n)))[0].numpy()

    def thumbnails(self, edge: int) -> Iterator[np.ndarray]:
        """The images in order, one by one, to be looked at: uint8 `(H, W, C)`, the longer side at most `edge` pixels.

        A streaming set never holds more than a few of them in memory; its images may vary in size.

        Raises:
            InputError: `edge` is below 1.

        Example:
            >>> from tfaudit.datasets.catalogue import load_dataset
            >>> next(load_dataset("digits", "test").thumbnails(4)).shape
            (4, 4, 1)
        """
        if edge < 1:
            raise InputError(f"edge is {edge}; it must be at least 1 pixel")
        if self.pixels is not None and max(self.pixels.shape[1:3]) <= edge:
            return iter(self.pixels)
        start_tensorflow()
        import tensorflow as tf

        if self.pixels is not None:
            images = self.batches(64).unbatch().map(lambda image, label: tf.cast(image, tf.uint8))
        else:
            images = self._stream().map(lambda image, label, name: image)
        small = images.map(lambda image: scaled_within(image, edge), tf.data.AUTOTUNE, deterministic=True)
        return iter(small.prefetch(2).as_numpy_iterator())

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of the pixels in 0..255, float64 `(C,)` each.

        A streaming set answers for its first 2,000 examples.

        Example:
            >>> from tfaudit.datasets.catalogue import load_dataset
            >>> mean, std = load_dataset("digits", "train").moments()
            >>> mean.round(), std.round()
            (array([78.]), array([96.]))
        """
        return self._moments

    @cached_property
    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        if self.pixels is not None:
            return channel_moments(self.pixels[i : i + 1024] for i in range(0, self.num_examples, 1024))
        batches = self.take(MOMENT_EXAMPLES).examples().batch(64)
        return channel_moments(images for images, _ in batches.as_numpy_iterator())

    def take(self, n: int) -> Dataset:
        """The first n examples as a data set of its own."""
        if n < 1:
            raise InputError(f"n is {n}; it must be at least 1")
        if self.pixels is not None:
            return self.select(np.arange(min(n, self.num_examples)), split=self.split)
        return replace(
            self,
            num_examples=min(n, self.num_examples),
            stream=lambda: self._stream().take(n),
            label_stream=lambda: self._label_stream().take(n),
            encoded=self.encoded and self.encoded.changed(lambda examples: examples.take(n), ordered=True),
        )

    def filtered(self, keep: Callable[[tf.Tensor], tf.Tensor], num_examples: int, *, split: str) -> Dataset:
        """The examples of a streaming set whose id `keep` accepts, a scalar string to a truth value.

        Args:
            keep: Made of TensorFlow's operations.
            num_examples: How many they are.
            split: Name of the new split.
        """
        encoded = self.encoded and self.encoded.changed(
            lambda examples: examples.filter(lambda image, label, name: keep(name)), ordered=False
        )
        return replace(
            self,
            split=split,
            num_examples=num_examples,
            stream=encoded.stream if encoded else lambda: self._stream().filter(lambda image, label, name: keep(name)),
            label_stream=lambda: self._label_stream().filter(lambda label, name, groups: keep(name)),
            encoded=encoded,
        )

    def select(self, positions: np.ndarray, *, split: str) -> Dataset:
        """The examples at these positions, int `(M,)`, as a data set in memory under the split name given.

        Raises:
            InputError: The set streams.
        """
        return replace(
            self,
            split=split,
            num_examples=len(positions),
            pixels=self.images[positions],
            known_labels=self.labels[positions],
            known_ids=self.example_ids[positions],
            known_groups={key: values[positions] for key, values in self._beside_images[2].items()},
        )


def check_labels(name: str, split: str, labels: np.ndarray, num_classes: int) -> None:
    """Refuse labels outside 0..C-1; the unlabelled test splits of challenges carry -1."""
    if labels.size and (labels.min() < 0 or labels.max() >= num_classes):
        raise InputError(
            f"labels of {name!r} split {split!r} run from {labels.min()} to {labels.max()}; "
            f"allowed are 0 to {num_classes - 1} (does the split come without labels?)"
        )


def as_text(values: np.ndarray) -> np.ndarray:
    """TensorFlow's strings are bytes; everything else stays."""
    return np.char.decode(values.astype(bytes), "utf-8", "replace") if values.dtype.kind in "OS" else values
