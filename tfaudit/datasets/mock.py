"""Mocks of data sets: a few random examples of the exact structure, to try out a study without the files."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tfaudit.datasets.builders import find_builder
from tfaudit.datasets.catalogue import catalogue_entry
from tfaudit.datasets.features import choose_features, value_of
from tfaudit.errors import InputError
from tfaudit.runtime.captured_output import quiet_tfds

if TYPE_CHECKING:
    import tensorflow as tf

MOCK_EXAMPLES = 64
"""Examples per split."""

SPLITS = ("train", "validation", "test")

CLASSES = 8
"""Labels cycle through at most this many classes, so that each has enough examples for a stratified split."""


def mock_builder(name: str, data_dir: str | Path | None) -> MockBuilder:
    """Return the mock of a data set; only a data set of your own must be present, as a folder in `data_dir`.

    Raises:
        InputError: the name is unknown, or the data set does not hold labelled images.
    """
    entry = catalogue_entry(name)
    if entry.embedded:
        expected = f"{name!r}, which comes with tfaudit and needs no mock"
        raise InputError("name", f"'mock:{name}'", expected)
    features = entry.features() if entry.features else find_builder(name, data_dir).info.features
    return MockBuilder(name, features)


@dataclass(frozen=True)
class MockBuilder:
    """A stand-in for a TFDS builder, with serialized examples in memory.

    The examples pass through the data set's own encoding and decoding. They are noise of the declared shape, 5 to 49
    pixels where images vary in size, the same in every process and on every machine.
    """

    name: str  # name of the mocked data set
    features: Any  # a tfds.features.FeaturesDict

    @cached_property
    def info(self) -> Any:
        """Features, and the splits as TFDS describes them."""
        import tensorflow_datasets as tfds

        template = tfds.core.ShardedFileTemplate(
            data_dir=Path(), dataset_name="mock", filetype_suffix="tfrecord"
        )
        # The number of bytes is unknown until the examples are made.
        size = {"shard_lengths": [MOCK_EXAMPLES], "num_bytes": MOCK_EXAMPLES}
        splits = [
            tfds.core.SplitInfo(name=split, filename_template=template.replace(split=split), **size)
            for split in SPLITS
        ]
        return SimpleNamespace(features=self.features, splits=tfds.core.splits.SplitDict(splits))

    @property
    def data_path(self) -> Path:
        """A folder that does not exist, since mocks have no files."""
        return Path("mock of", self.name)

    def is_prepared(self) -> bool:
        """Return True."""
        return True

    def as_dataset(
        self, *, split: str, decoders: Any, read_config: Any, shuffle_files: bool
    ) -> tf.data.Dataset:
        """Read a split as a builder reads a data set of one file, whatever `read_config` says of files."""
        import tensorflow as tf

        wanted = decoders.extract_features(self.features)
        base = split.partition("[")[0]
        (part,) = self.info.splits[split].file_instructions
        records = tf.data.Dataset.from_tensor_slices(self._records(base)).enumerate()
        records = records.skip(part.skip).take(
            part.examples_in_shard if part.takes_all else part.take
        )

        def decode(row: tf.Tensor, record: tf.Tensor) -> dict[str, Any]:
            name = tf.strings.join([f"mock-{base}__", tf.strings.as_string(row)])
            return {
                "tfds_id": name,
                **wanted.deserialize_example(record, decoders=decoders.decoders),
            }

        return records.map(decode, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)

    def _records(self, split: str) -> list[bytes]:
        """Return the serialized examples of a split."""
        with quiet_tfds():
            encoded = map(self.features.encode_example, self.examples(split, MOCK_EXAMPLES))
            return [self.features.serialize_example(example) for example in encoded]

    def examples(self, split: str, count: int) -> Iterator[dict[str, Any]]:
        """Yield a number of examples of a split, which may be larger than a mock has."""
        from tensorflow_datasets.testing.mocking import RandomFakeGenerator

        chosen = choose_features(self.name, self.features, catalogue_entry(self.name))
        labels = min(CLASSES, len(chosen.class_names))
        seed = zlib.crc32(f"{self.name}/{split}".encode())
        for i, example in enumerate(RandomFakeGenerator(self.features, count, seed=seed)):
            value_of(example, chosen.label[:-1])[chosen.label[-1]] = i % labels
            example[chosen.identity] = f"mock-{split}__{i}"
            example.pop("tfds_id", None)
            yield example
