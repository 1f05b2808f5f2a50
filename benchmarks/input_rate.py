"""How fast training reads photographs: images a second of a core, against plain `tf.data` and Keras' folders.

    python benchmarks/input_rate.py FOLDER [--single] [--width 500] [--images 1000] [--rounds 5]

FOLDER holds JPEGs. They are stored twice: in the TFRecords that TensorFlow Datasets writes for ImageNet, and one class
a folder. With a width, they are scaled to it first: most of ImageNet's are 500 pixels wide. In every round each side
yields the same number of images of 224x224 pixels, in batches of 128:

- `tfaudit`: the seeded pipeline: files in an order of the seed, shuffled, a random rectangle decoded from the JPEG,
  resized with anti-aliasing, mirrored; the same bits with any number of threads. With `--single`, the pipeline of
  `imagenet_resnet50`: one attempt at a rectangle, or else the centre, and bicubic interpolation without anti-aliasing;
- `plain`: a pipeline of the same steps as TensorFlow's guide writes it: random operations without a fixed result, and
  `tf.image.resize` as it is by default, without anti-aliasing;
- `plain, anti-aliased`: the same with anti-aliasing;
- `plain, single`, with `--single` instead of these two: the same operations as tfaudit's;
- `Keras`: `image_dataset_from_directory`, which decodes whole images, resizes them without anti-aliasing and neither
  crops nor mirrors.

A rate is per second of processor time of all threads, which other load affects less than the clock. Ratios are medians
over rounds, of tfaudit's rate over the other's. Goal: 1.0 against the fastest.
"""

import argparse
import io
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import tensorflow as tf
import tensorflow_datasets as tfds
from PIL import Image

from tfaudit.datasets import loading
from tfaudit.datasets.pipeline import training_batches

EDGE, BATCH, SHARDS = 224, 128, 20
Side = Callable[[int], tf.data.Dataset]
"""Makes a dataset of batches for a seed, endless or of one epoch."""


def photographs(folder: Path, count: int, width: int | None) -> list[bytes]:
    """Return the JPEGs of a folder, scaled to a width if one is given."""
    contents = [path.read_bytes() for path in sorted(folder.glob("*.jpg"))[:count]]
    if width is None:
        return contents
    scaled = []
    for content in contents:
        image = Image.open(io.BytesIO(content)).convert("RGB")
        buffer = io.BytesIO()
        size = width, round(width * image.height / image.width)
        image.resize(size, Image.Resampling.BICUBIC).save(buffer, "JPEG", quality=90)
        scaled.append(buffer.getvalue())
    return scaled


def write_records(contents: list[bytes], data_dir: Path) -> list[str]:
    """Write a training set of ImageNet as TensorFlow Datasets does, and return its files."""
    builder = tfds.builder("imagenet2012", data_dir=data_dir)
    template = tfds.core.ShardedFileTemplate(
        data_dir=builder.data_path,
        dataset_name=builder.name,
        split="train",
        filetype_suffix="tfrecord",
    )
    parts = [range(shard, len(contents), SHARDS) for shard in range(SHARDS)]
    info = tfds.core.SplitInfo(
        name="train",
        shard_lengths=[len(part) for part in parts],
        num_bytes=sum(map(len, contents)),
        filename_template=template,
    )
    builder.info.set_splits(tfds.core.splits.SplitDict([info]))
    Path(builder.data_dir).mkdir(parents=True)
    builder.info.write_to_directory(builder.data_dir)
    features = builder.info.features
    paths = [str(path) for path in info.filepaths]
    for path, part in zip(paths, parts, strict=True):
        with tf.io.TFRecordWriter(path) as writer:
            for i in part:
                image = io.BytesIO(contents[i])
                example = {"image": image, "label": i % 1000, "file_name": f"{i}.jpg"}
                writer.write(features.serialize_example(features.encode_example(example)))
    return paths


def write_folders(contents: list[bytes], folder: Path) -> None:
    """Write one folder of JPEGs for each of ten classes."""
    for i, content in enumerate(contents):
        place = folder / f"class{i % 10}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{i}.jpg").write_bytes(content)


def resize_single(part: tf.Tensor, shape: tf.Tensor) -> tf.Tensor:
    """Resize a rectangle bicubically; if it is the whole image, scale and crop its centre."""

    def centre() -> tf.Tensor:
        size = tf.cast(shape[:2], tf.float32)
        scaled = tf.cast(size / tf.reduce_min(size) * EDGE, tf.int32)
        image = tf.raw_ops.ResizeBicubic(images=part[None], size=scaled)[0]
        return tf.image.resize_with_crop_or_pad(image, EDGE, EDGE)

    return tf.cond(
        tf.reduce_all(tf.shape(part)[:2] == shape[:2]),
        centre,
        lambda: tf.raw_ops.ResizeBicubic(images=part[None], size=(EDGE, EDGE))[0],
    )


def plain(paths: list[str], count: int, *, antialias: bool = False, single: bool = False) -> Side:
    """Return the pipeline of TensorFlow's guide."""

    def resize(part: tf.Tensor, shape: tf.Tensor) -> tf.Tensor:
        if single:
            return resize_single(part, shape)
        return tf.image.resize(part, (EDGE, EDGE), antialias=antialias)

    def example(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        kinds = {
            "image": tf.io.FixedLenFeature([], tf.string),
            "label": tf.io.FixedLenFeature([], tf.int64),
        }
        parsed = tf.io.parse_single_example(record, kinds)
        shape = tf.image.extract_jpeg_shape(parsed["image"])
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            shape,
            tf.constant([[[0.0, 0.0, 1.0, 1.0]]]) if single else tf.zeros([1, 0, 4]),
            area_range=(0.08, 1.0),
            aspect_ratio_range=(3 / 4, 4 / 3),
            max_attempts=1 if single else 10,
            min_object_covered=0.1 if single else 0.0,
            use_image_if_no_bounding_boxes=True,
        )
        box = tf.concat([begin[:2], size[:2]], axis=0)
        crop = tf.image.decode_and_crop_jpeg(parsed["image"], box, channels=3)
        image = resize(crop, shape)
        return tf.image.random_flip_left_right(image), parsed["label"]

    def batches(seed: int) -> tf.data.Dataset:
        files = tf.data.Dataset.from_tensor_slices(paths).shuffle(len(paths), seed)
        records = files.interleave(tf.data.TFRecordDataset, 16, num_parallel_calls=tf.data.AUTOTUNE)
        shuffled = records.shuffle(count, seed).repeat()
        return shuffled.map(example, tf.data.AUTOTUNE).batch(BATCH).prefetch(2)

    return batches


def rate(side: Side, seed: int, images: int) -> float:
    """Return images a second of processor time, without the start of the pipeline."""
    batches = iter(side(seed))
    next(batches)
    seen = 0
    start = time.process_time()
    while seen < images:
        seen += len(next(batches)[0])
    return seen / (time.process_time() - start)


def main() -> None:
    """Print rates and ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--single", action="store_true")
    parser.add_argument("--width", type=int)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    contents = photographs(arguments.folder, arguments.images, arguments.width)
    with tempfile.TemporaryDirectory() as directory:
        paths = write_records(contents, Path(directory) / "records")
        write_folders(contents, Path(directory) / "folders")
        loading.IN_MEMORY_BYTES = 0  # so few photographs would be held in memory; ImageNet is not
        train = loading.load_dataset(
            "imagenet2012",
            "train",
            data_dir=Path(directory) / "records",
            image_size=256,
            crop=EDGE,
        )

        def ours(seed: int) -> tf.data.Dataset:
            augmentation = "single_crop_flip" if arguments.single else "resized_crop_flip"
            return training_batches(train, batch_size=BATCH, seed=seed, augmentation=augmentation)

        def of_keras(seed: int) -> tf.data.Dataset:
            folders = keras.utils.image_dataset_from_directory(
                Path(directory) / "folders",
                image_size=(EDGE, EDGE),
                batch_size=BATCH,
                seed=seed,
                verbose=False,
            )
            return folders.repeat()

        count = len(contents)
        of_tensorflow = {
            "plain": plain(paths, count),
            "plain, anti-aliased": plain(paths, count, antialias=True),
        }
        if arguments.single:
            of_tensorflow = {"plain, single": plain(paths, count, single=True)}
        sides: dict[str, Side] = {"tfaudit": ours, **of_tensorflow, "Keras": of_keras}
        rates: dict[str, list[float]] = {name: [] for name in sides}
        for seed in range(arguments.rounds):
            for name, side in sides.items():
                rates[name].append(rate(side, seed, arguments.images))
    mean_bytes = sum(map(len, contents)) / len(contents)
    print(f"{len(contents)} photographs of {mean_bytes / 1e3:.0f} kB, {arguments.rounds} rounds")
    for name, values in rates.items():
        ratios = sorted(own / other for own, other in zip(rates["tfaudit"], values, strict=True))
        spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
        print(
            f"{name:20} {statistics.median(values):6.0f} images/s of a core"
            f"  tfaudit / this {statistics.median(ratios):.2f} ({spread})"
        )


if __name__ == "__main__":
    main()
