"""`Dataset`: labelled examples in memory, or images as a stream, the same whatever their source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tfaudit.datasets.cropping import as_pixels, fit_within
from tfaudit.datasets.scaling import ImageShape
from tfaudit.datasets.structure import mapped
from tfaudit.errors import InputError, require, require_least, require_whole
from tfaudit.runtime.captured_output import start_tensorflow
from tfaudit.stats.group_codes import CLUSTER

if TYPE_CHECKING:
    import tensorflow as tf

MOMENT_EXAMPLES = 2_000
"""Number of examples from which a stream's moments are computed."""


def pipeline_options() -> tf.data.Options:
    """Return options for a pipeline that yields its elements in order and is not tuned while it runs.

    A tuned pipeline may wait at its end for the tuner's next turn, up to a minute in which the worker is idle. Without
    tuning, `tf.data.AUTOTUNE` stands for as many threads as the machine has, at most 16.
    """
    import tensorflow as tf

    options = tf.data.Options()
    options.deterministic = True
    options.autotune.enabled = False
    return options


@dataclass(frozen=True)
class ImageStream:
    """Images that are read from files on every pass, encoded: cheap to shuffle, and cropped before they are decoded."""

    # makes a dataset of (encoded image, label, example id): in the fixed order for None; for a seed, an int64 scalar,
    # with the files in an order that the seed determines
    read: Callable[[tf.Tensor | None], tf.data.Dataset]
    # makes a dataset of (groups by column, label, example id) in the fixed order, without reading images
    read_groups: Callable[[], tf.data.Dataset]
    # maps an encoded image to the (H, W, C) that is evaluated, uint8 or, of bicubic scaling, float32
    decode: Callable[[tf.Tensor], tf.Tensor]
    example_bytes: int  # mean size of an encoded example, at least 1

    def decoded(self) -> tf.data.Dataset:
        """Return single `(image, label, example id)`, decoded, in the fixed order."""
        import tensorflow as tf

        return self.read(None).map(
            lambda image, label, name: (self.decode(image), label, name),
            tf.data.AUTOTUNE,
            deterministic=True,
        )

    def transformed(
        self, change: Callable[[tf.data.Dataset], tf.data.Dataset], *, ordered: bool
    ) -> ImageStream:
        """Return the stream with `change` applied to what is read, always in the fixed order if `ordered`."""
        return replace(
            self,
            read=lambda seed: change(self.read(None if ordered else seed)),
            read_groups=lambda: change(self.read_groups()),
        )


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled examples in a fixed order, either `inputs` in memory or images read from `stream`.

    Attributes:
        name: name of the data set, as `load_dataset` takes it.
        split: name of the split, such as `"test"`.
        class_names: names of the classes by label.
        image_shape: shape of the images `(H, W, C)`, None for sizes that vary; all None for examples other than images.
        num_examples: number of examples, N.
        inputs: inputs of the model, in memory: images, uint8 `(N, H, W, C)`, or for other examples an array `(N, ...)`
            of numbers or text, or a dictionary or tuple of such arrays. None for a stream.
        stream: images of a prepared data set that is not in memory; with `inputs`, it is read only for the groups, on
            request.
        known_labels: labels, int64 `(N,)`; required with `inputs`.
        known_ids: ids of the examples, str `(N,)`; required with `inputs`.
        known_groups: further columns `(N,)` by name, such as the writer of a digit; optional with `inputs`.
        targets: the labels as the user's function returned them, `(N,)` or one-hot; the known labels by default.
        weights: factors of the examples' losses in training, float32 `(N,)`; None for 1.
        preview: how the report and the viewer show an example, as in `tfaudit.Examples`.
        notes: sentences about the examples that readers of results need, such as which images were left out.
    """

    name: str
    split: str
    class_names: tuple[str, ...] = field(repr=False)
    image_shape: ImageShape
    num_examples: int
    inputs: Any = field(default=None, repr=False)
    stream: ImageStream | None = field(default=None, repr=False)
    known_labels: np.ndarray | None = field(default=None, repr=False)
    known_ids: np.ndarray | None = field(default=None, repr=False)
    known_groups: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)
    targets: np.ndarray | None = field(default=None, repr=False)
    weights: np.ndarray | None = field(default=None, repr=False)
    preview: Callable[[Any], Any] | Sequence[Any] | None = field(default=None, repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)

    @property
    def num_classes(self) -> int:
        """Number of classes of the data set, whether or not this split shows them all."""
        return len(self.class_names)

    @property
    def in_memory(self) -> bool:
        """Whether the examples are in memory; a stream has `batches` but no `images`."""
        return self.inputs is not None

    @property
    def has_images(self) -> bool:
        """Whether the examples are uint8 images, which can be corrupted and measured."""
        return self.image_shape[2] is not None

    @property
    def held(self) -> Any:
        """Inputs of the model, in memory; a stream raises `InputError`."""
        if self.inputs is None:
            expected = "a data set in memory; read it with batches()"
            raise InputError("images", f"{self.name!r}, a stream", expected)
        return self.inputs

    @property
    def input_shape(self) -> Any:
        """Shape of one example's inputs, without the batch: `(H, W, C)`, or in the structure of `inputs`."""
        if self.has_images:
            return self.fixed_shape()
        return mapped(lambda values: values.shape[1:], self.held)

    @property
    def images(self) -> np.ndarray:
        """The images, uint8 `(N, H, W, C)`; a stream raises `InputError`."""
        self._require_images()
        return self.held  # type: ignore[no-any-return]

    @property
    def labels(self) -> np.ndarray:
        """The labels, int64 `(N,)`; a stream is read once for them."""
        return self._streamed_columns[0] if self.known_labels is None else self.known_labels

    @property
    def example_ids(self) -> np.ndarray:
        """Stable ids of the examples, str `(N,)`; a stream is read once for them."""
        return self._streamed_columns[1] if self.known_ids is None else self.known_ids

    @property
    def groups(self) -> pd.DataFrame:
        """Further columns of the N examples, such as writer or attribute; a table without columns if there are none."""
        columns = self._group_columns
        return pd.DataFrame(
            {name: columns[name] for name in sorted(columns)}, index=range(self.num_examples)
        )

    @property
    def clusters(self) -> np.ndarray | None:
        """Cluster of each example, `(N,)`, such as its film; None without a column `cluster` among the groups."""
        return self._group_columns.get(CLUSTER)

    @property
    def _group_columns(self) -> Mapping[str, np.ndarray]:
        return self.known_groups if self.stream is None else self._streamed_columns[2]

    @cached_property
    def _streamed_columns(self) -> tuple[np.ndarray, np.ndarray, Mapping[str, np.ndarray]]:
        rows = list(self._source.read_groups().batch(4096).as_numpy_iterator())
        labels = np.concatenate([labels for _, labels, _ in rows])
        check_labels(self.name, self.split, labels, self.num_classes)
        groups = {key: _joined([columns[key] for columns, _, _ in rows]) for key in rows[0][0]}
        return labels, _joined([names for _, _, names in rows]), groups

    @property
    def _source(self) -> ImageStream:
        if self.stream is None:
            raise InputError(
                "stream", f"no examples and no stream for {self.name!r}", "one of them"
            )
        return self.stream

    def batches(
        self, batch_size: int, *, targets: bool = False, weights: bool = False
    ) -> tf.data.Dataset:
        """Return a `tf.data.Dataset` of float32 pixels 0..255 `(B, H, W, C)` and int64 labels `(B,)`, in order, once.

        Examples that are not images keep the types of their inputs. With `targets`, these replace the labels. With
        `weights`, those of the examples follow, if they have any.

        Raises:
            InputError: `batch_size` is below 1, or the images vary in size.
        """
        import tensorflow as tf

        require_whole("batch_size", batch_size, 1)
        if self.in_memory:
            # One tensor, sliced by ranges: slicing example by example takes twenty times as long.
            held = self.tensors(targets=targets, weights=weights)
            starts = tf.data.Dataset.range(0, self.num_examples, batch_size)

            def batch(start: tf.Tensor) -> tuple[Any, ...]:
                return mapped(lambda values: values[start : start + batch_size], held)  # type: ignore[no-any-return]

            batches = starts.map(batch)
        else:
            batches = self.examples().batch(batch_size)
        floats = batches.map(lambda inputs, *others: (self.as_floats(inputs), *others))
        return floats.with_options(pipeline_options()).prefetch(2)

    def tensors(self, *, targets: bool = False, weights: bool = False) -> tuple[Any, ...]:
        """Return the inputs in memory, in their structure, labels or targets, and any weights, on the CPU."""
        import tensorflow as tf

        with tf.device("CPU:0"):  # tf.data runs there, even with a GPU
            labels = self.labels if self.targets is None or not targets else self.targets
            held: tuple[Any, ...] = (self.held, labels)
            if weights and self.weights is not None:
                held = (*held, self.weights)
            return mapped(tf.constant, held)  # type: ignore[no-any-return]

    def as_floats(self, inputs: Any) -> Any:
        """Return a batch's pixels as float32; other inputs as they are."""
        import tensorflow as tf

        return tf.cast(inputs, tf.float32) if self.has_images else inputs

    def examples(self) -> tf.data.Dataset:
        """Return a stream's single images `(H, W, C)`, as `ImageStream.decode` gives them, and labels, once."""
        self.fixed_shape()
        return self._source.decoded().map(lambda image, label, name: (image, label))

    def fixed_shape(self) -> tuple[int, int, int]:
        """Return `image_shape`; raise `InputError` if the images vary in size."""
        self._require_images()
        height, width, channels = self.image_shape
        if height is None or width is None or channels is None:
            got = f"{self.name!r}, whose images vary in size {self.image_shape}"
            call = f"load_dataset({self.name!r}, {self.split!r}, image_size=224)"
            raise InputError("images", got, f"images of one size; {call} makes them so")
        return height, width, channels

    def _require_images(self) -> None:
        if not self.has_images:
            got = f"{self.name!r}, whose examples are no images (uint8, (N, H, W, 1 or 3))"
            raise InputError("images", got, "a data set of images")

    def head(self, n: int) -> Any:
        """Return the first n images, uint8 `(min(n, N), H, W, C)`, which need not stand for the others.

        Examples that are not images are returned in the structure of `inputs`.
        """
        require_least(1, n=n)
        if self.in_memory:
            return mapped(lambda values: values[:n], self.held)
        return next(iter(self.examples().batch(n)))[0].numpy()

    def thumbnails(self, edge: int) -> Iterator[np.ndarray]:
        """Return the images in order, scaled down for display: uint8 `(H, W, C)`, at most `edge` pixels a side.

        A stream holds only a few of them in memory at a time; its images may vary in size.

        Example:
            >>> from tfaudit.datasets.loading import load_dataset
            >>> next(load_dataset("digits", "test").thumbnails(4)).shape
            (4, 4, 1)
        """
        require(edge >= 1, "edge", edge, "1 pixel or more")
        if self.in_memory and max(self.images.shape[1:3]) <= edge:
            return iter(self.images)
        start_tensorflow()
        import tensorflow as tf

        if self.in_memory:
            images = self.batches(64).unbatch().map(lambda image, label: as_pixels(image))
        else:
            images = self._source.decoded().map(lambda image, label, name: image)
        small = images.map(
            lambda image: fit_within(image, edge), tf.data.AUTOTUNE, deterministic=True
        )
        return iter(small.prefetch(2).as_numpy_iterator())

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation of the pixels in 0..255, float64 `(C,)`; for a stream, of 2,000 examples.

        Example:
            >>> from tfaudit.datasets.loading import load_dataset
            >>> [values.round() for values in load_dataset("digits", "train").moments()]
            [array([78.]), array([96.])]
        """
        return self._moments

    @cached_property
    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        if self.in_memory:
            starts = range(0, self.num_examples, 1024)
            return channel_moments(self.images[start : start + 1024] for start in starts)
        rows = self.take(MOMENT_EXAMPLES).examples()
        batches = rows.map(lambda image, label: (as_pixels(image), label)).batch(64)
        return channel_moments(images for images, _ in batches.as_numpy_iterator())

    def take(self, n: int) -> Dataset:
        """Return the first n examples as a data set."""
        require_least(1, n=n)
        if self.in_memory:
            return self.select(np.arange(min(n, self.num_examples)), split=self.split)
        return replace(
            self,
            num_examples=min(n, self.num_examples),
            stream=self._source.transformed(lambda rows: rows.take(n), ordered=True),
        )

    def filtered(
        self, keep: Callable[[tf.Tensor], tf.Tensor], num_examples: int, *, split: str
    ) -> Dataset:
        """Return the stream's examples whose ids `keep` accepts, as the split `split`.

        `keep` maps a scalar string to a boolean, with TensorFlow operations, and accepts `num_examples` ids.
        """

        def accepted(rows: tf.data.Dataset) -> tf.data.Dataset:
            return rows.filter(lambda content, label, name: keep(name))

        stream = self._source.transformed(accepted, ordered=False)
        return replace(self, split=split, num_examples=num_examples, stream=stream)

    def select(self, positions: np.ndarray, *, split: str) -> Dataset:
        """Return the examples at positions, int `(M,)`, as a data set in memory with a split name.

        A stream is read up to the last position; only images at the positions are decoded.
        """
        if not self.in_memory:
            return self._read(np.asarray(positions), split)
        preview = self.preview
        if preview is not None and not callable(preview):
            preview = [preview[i] for i in positions]
        return replace(
            self,
            split=split,
            num_examples=len(positions),
            inputs=mapped(lambda values: values[positions], self.held),
            stream=None,
            targets=None if self.targets is None else self.targets[positions],
            weights=None if self.weights is None else self.weights[positions],
            preview=preview,
            known_labels=self.labels[positions],
            known_ids=self.example_ids[positions],
            known_groups={key: values[positions] for key, values in self._group_columns.items()},
        )

    def _read(self, positions: np.ndarray, split: str) -> Dataset:
        """Return a stream's examples at different positions as a data set in memory."""
        import tensorflow as tf

        wanted = tf.constant(positions, tf.int64)

        def chosen(rows: tf.data.Dataset) -> tf.data.Dataset:
            numbered = rows.enumerate().filter(lambda number, _: tf.reduce_any(number == wanted))
            return numbered.map(lambda _, row: row).take(len(positions))

        rows = self._source.transformed(chosen, ordered=True)
        labels, ids, groups = self._streamed_columns
        order = np.argsort(np.argsort(positions))
        images = next(iter(replace(self, stream=rows).examples().batch(len(positions))))[0]
        return replace(
            self,
            split=split,
            num_examples=len(positions),
            inputs=images.numpy()[order],
            stream=None,
            known_labels=labels[positions],
            known_ids=ids[positions],
            known_groups={name: values[positions] for name, values in groups.items()},
        )


Splits = tuple[Dataset, Dataset]
"""Training and test set."""


def shape_of_images(x: Any) -> ImageShape:
    """Return the shape of images, uint8 `(N, H, W, 1 or 3)`, as in a `Dataset`; all None for other inputs.

    Example:
        >>> shape_of_images(np.zeros((2, 8, 8, 1), np.uint8)), shape_of_images(np.zeros((2, 8)))
        ((8, 8, 1), (None, None, None))
    """
    if isinstance(x, np.ndarray) and x.dtype == np.uint8 and x.ndim == 4 and x.shape[3] in (1, 3):
        return x.shape[1:]
    return None, None, None


def check_labels(name: str, split: str, labels: np.ndarray, num_classes: int) -> None:
    """Refuse labels outside 0..C-1; the unlabelled test splits of challenges have -1."""
    if labels.size and (labels.min() < 0 or labels.max() >= num_classes):
        got = f"{labels.min()} to {labels.max()} in split {split!r} of {name!r}"
        raise InputError("labels", got, f"0 to {num_classes - 1} (is the split without labels?)")


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """Concatenate the parts of a column; TensorFlow's strings, which are bytes, become text."""
    values = np.concatenate(parts)
    if values.dtype.kind in "OS":
        return np.char.decode(values.astype(bytes), "utf-8", "replace")
    return values


def channel_moments(batches: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of every channel, float64 `(C,)` each, exact from counts of the 256 levels.

    Args:
        batches: batches of images, uint8 `(B, H, W, C)`; at least one.

    Example:
        >>> channel_moments([np.array([[[[0, 10]]], [[[4, 10]]]], np.uint8)])
        (array([ 2., 10.]), array([2., 0.]))
    """
    channels = (batch.reshape(-1, batch.shape[-1]).T for batch in batches)
    counts = np.sum(
        [[np.bincount(levels, minlength=256) for levels in batch] for batch in channels], axis=0
    )
    levels = np.arange(256)
    share = counts / counts.sum(axis=1, keepdims=True)
    mean = share @ levels
    return mean, np.sqrt((share * (levels - mean[:, None]) ** 2).sum(axis=1))
