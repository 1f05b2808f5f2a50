"""Training on a set in many files whose images vary in size, as ImageNet's do."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds
from numpy.testing import assert_allclose, assert_array_equal

from tfaudit.datasets import loading
from tfaudit.datasets.loading import load_dataset
from tfaudit.datasets.pipeline import training_batches
from tfaudit.datasets.validation import split_validation

SHARDS, PER_SHARD = 20, 8
COUNT = SHARDS * PER_SHARD


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """ImageNet in twenty files of eight images; image i is i + 10 all over and of its own size."""
    data_dir = tmp_path_factory.mktemp("imagenet")
    builder = tfds.builder("imagenet2012", data_dir=data_dir)
    template = tfds.core.ShardedFileTemplate(
        data_dir=builder.data_path,
        dataset_name=builder.name,
        split="train",
        filetype_suffix="tfrecord",
    )
    info = tfds.core.SplitInfo(
        name="train",
        shard_lengths=[PER_SHARD] * SHARDS,
        num_bytes=COUNT * 800,
        filename_template=template,
    )
    builder.info.set_splits(tfds.core.splits.SplitDict([info]))
    Path(builder.data_dir).mkdir(parents=True)
    builder.info.write_to_directory(builder.data_dir)
    features = builder.info.features
    for shard, path in enumerate(info.filepaths):
        with tf.io.TFRecordWriter(str(path)) as writer:
            for i in range(shard * PER_SHARD, (shard + 1) * PER_SHARD):
                image = np.full((20 + i % 7, 30 - i % 5, 3), i + 10, np.uint8)
                example = {"image": image, "label": i, "file_name": f"n{i:03d}.jpg"}
                writer.write(features.serialize_example(features.encode_example(example)))
    return data_dir


@pytest.fixture(scope="module")
def train(folder):
    return load_dataset("imagenet2012", "train", data_dir=folder, image_size=20, crop=16)


@pytest.fixture
def streaming(folder, monkeypatch):
    monkeypatch.setattr(loading, "IN_MEMORY_BYTES", 0)
    return load_dataset("imagenet2012", "train", data_dir=folder, image_size=20, crop=16)


def order(batches):
    for images, labels in batches:  # noise of JPEG aside, an image shows its label
        assert_allclose(images.mean(axis=(1, 2, 3)), labels + 10, atol=2)
    return np.concatenate([labels for _, labels in batches])


def run(dataset, steps, **options):
    options = {"batch_size": 48, "seed": 1, "augmentation": "resized_crop_flip"} | options
    return list(training_batches(dataset, **options).take(steps).as_numpy_iterator())


@pytest.mark.slow
def test_files_come_in_an_order_of_the_seed(streaming):
    """Without a buffer the first sixteen files of an epoch would always be the same ones."""
    firsts = []
    for seed in range(6):
        examples = streaming.stream.read(tf.constant(seed, tf.int64))
        files = {
            int(label) // PER_SHARD
            for _, label, _ in examples.take(16 * PER_SHARD).as_numpy_iterator()
        }
        assert len(files) == 16
        firsts.append(frozenset(files))
    assert len(set(firsts)) == 6
    fixed = [int(label) for _, label, _ in streaming.stream.read(None).as_numpy_iterator()]
    assert_array_equal(fixed, streaming.labels)


def test_examples_at_positions_are_read_from_all_files(streaming, train):
    positions = [150, 3, 70]
    chosen = streaming.select(positions, split="few")
    assert_array_equal(chosen.images, train.images[positions])
    assert chosen.labels.tolist() == positions
    assert chosen.example_ids.tolist() == train.example_ids[positions].tolist()


@pytest.mark.slow
def test_random_crops_see_the_whole_image(streaming):
    """Evaluation of a 20 x 60 image sees its middle 16 x 16; training must see the borders too."""
    columns = np.broadcast_to(np.arange(60, dtype=np.uint8)[None, :, None] * 4, (20, 60, 3))
    content = tf.io.encode_png(columns)

    def read(seed):
        rows = streaming.stream.read(seed)
        return rows.map(lambda image, label, name: (content, label, name))

    stream = dataclasses.replace(streaming.stream, read=read)
    wide = dataclasses.replace(streaming, stream=stream)
    images = np.concatenate([images for images, _ in run(wide, 4)])
    assert images.min() < 20
    assert images.max() > 216
    evaluated = stream.decode(content).numpy()
    assert evaluated.min() > 80
    assert evaluated.max() < 160


@pytest.mark.slow
def test_parts_of_a_stream_train(streaming):
    few = streaming.take(10)
    assert sorted(order(run(few, 1))) == sorted(streaming.labels[:10])
    part, held_out = split_validation(streaming, 0.25, seed=5)
    seen = order(run(part, -(-part.num_examples // 48)))
    assert sorted(seen) == sorted(set(range(COUNT)) - set(held_out.labels))
    images, labels = next(iter(held_out.batches(COUNT)))
    assert_array_equal(labels, held_out.labels)
    assert_allclose(images.numpy().mean(axis=(1, 2, 3)), labels.numpy() + 10, atol=2)


@pytest.mark.slow
def test_it_looks_the_same_in_memory_and_in_tfds(streaming, train, folder):
    assert train.in_memory
    assert_array_equal(train.images, np.concatenate([b.numpy() for b, _ in streaming.batches(64)]))
    theirs = tfds.load("imagenet2012", split="train", data_dir=folder, download=False)
    names = [example["file_name"].decode() for example in theirs.as_numpy_iterator()]
    assert_array_equal(streaming.example_ids, names)


def test_no_pipeline_is_tuned_while_it_runs(train):
    made = training_batches(train, batch_size=8, seed=0), load_dataset("digits", "test").batches(8)
    for pipeline in (train.batches(8), *made):
        assert (
            pipeline.options().autotune.enabled is False
        )  # a tuner holds up the end of its pipeline up to a minute


@pytest.mark.slow
def test_thumbnails_of_a_stream(streaming, folder):
    small = list(streaming.thumbnails(8))
    assert {image.shape for image in small} == {(8, 8, 3)}
    assert_allclose([image.mean() for image in small], streaming.labels + 10, atol=2)
    as_is = load_dataset("imagenet2012", "train", data_dir=folder)
    shapes = [image.shape for image in as_is.thumbnails(24)]
    assert len(shapes) == COUNT
    assert {max(shape) for shape in shapes} == {24}
