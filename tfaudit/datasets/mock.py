"""Stands for a data set that is not there: a few made-up examples of its exact structure, to try a study out."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tfaudit.datasets.builders import find_builder
from tfaudit.datasets.features import choose_features, value_of
from tfaudit.errors import InputError
from tfaudit.quiet import quiet_tfds

if TYPE_CHECKING:
    import tensorflow as tf

__all__ = ["MOCK_EXAMPLES", "MOCK_PREFIX", "Mock", "mock_builder"]

MOCK_PREFIX = "mock:"
"""`mock:imagenet2012` is a set of the structure of `imagenet2012` that needs no files."""

MOCK_EXAMPLES = 64
"""Examples of a split."""

SPLITS = ("train", "validation", "test")

CLASSES = 8
"""Labels go round the first so many classes: each has enough examples to be split by class."""


def mock_builder(name: str, data_dir: str | Path | None) -> Mock:
    """The mock of a set.

    Args:
        name: As `find_builder` takes it; the files need not be there.
        data_dir: As `data_folder` takes it; sets of your own are known by their files there.

    Raises:
        InputError: Nothing goes by the name, or it is no set of labelled images.
    """
    if name == "digits":
        raise InputError("name is 'mock:digits'; the digits come with tfaudit and need no mock")
    if name == "qmnist":
        from tfaudit.datasets.qmnist import qmnist_features

        return Mock(name, qmnist_features())
    return Mock(name, find_builder(name, data_dir).info.features)


@dataclass(frozen=True)
class Mock:
    """What `read_prepared` needs of a TFDS builder, over serialized examples in memory.

    The examples pass through the set's own encoding and decoding. They are noise of the declared shape, 5 to 49 pixels
    where images vary in size, the same in every process and on every machine.

    Attributes:
        name: Of the set it stands for.
        features: A `tfds.features.FeaturesDict`.
    """

    name: str
    features: Any

    @cached_property
    def info(self) -> Any:
        """Features, and the splits as TFDS describes them."""
        import tensorflow_datasets as tfds

        template = tfds.core.ShardedFileTemplate(data_dir=Path(), dataset_name="mock", filetype_suffix="tfrecord")
        splits = tfds.core.splits.SplitDict(
            [
                tfds.core.SplitInfo(
                    name=split,
                    shard_lengths=[MOCK_EXAMPLES],
                    num_bytes=MOCK_EXAMPLES,  # not known before they are made
                    filename_template=template.replace(split=split),
                )
                for split in SPLITS
            ]
        )
        return SimpleNamespace(features=self.features, splits=splits)

    def is_prepared(self) -> bool:
        """Always."""
        return True

    def as_dataset(self, *, split: str, decoders: Any, read_config: Any, shuffle_files: bool) -> tf.data.Dataset:
        """As a builder would read a set of one file, whatever `read_config` says of files."""
        import tensorflow as tf

        wanted = decoders.extract_features(self.features)
        base = split.partition("[")[0]
        (part,) = self.info.splits[split].file_instructions
        records = tf.data.Dataset.from_tensor_slices(self._records(base)).enumerate()
        records = records.skip(part.skip).take(part.examples_in_shard if part.takes_all else part.take)

        def decode(row: tf.Tensor, record: tf.Tensor) -> dict[str, Any]:
            name = tf.strings.join([f"mock-{base}__", tf.strings.as_string(row)])
            return {"tfds_id": name, **wanted.deserialize_example(record, decoders=decoders.decoders)}

        return records.map(decode, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)

    def _records(self, split: str) -> list[bytes]:
        """The serialized examples of a split."""
        from tensorflow_datasets.testing.mocking import RandomFakeGenerator

        chosen = choose_features(self.name, self.features)
        labels = min(CLASSES, len(chosen.class_names))
        seed = zlib.crc32(f"{self.name}/{split}".encode())
        records = []
        with quiet_tfds():
            for i, example in enumerate(RandomFakeGenerator(self.features, MOCK_EXAMPLES, seed=seed)):
                value_of(example, chosen.label[:-1])[chosen.label[-1]] = i % labels
                value_of(example, chosen.identity[:-1])[chosen.identity[-1]] = f"mock-{split}__{i}"
                example.pop("tfds_id", None)
                records.append(self.features.serialize_example(self.features.encode_example(example)))
        return records
