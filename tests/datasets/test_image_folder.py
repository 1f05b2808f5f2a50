import os
import shutil

import numpy as np
import pytest
from PIL import Image

from tests.builders.refusals import assert_refused
from tfaudit.datasets.image_folder import image_folder_files
from tfaudit.datasets.loading import load_dataset
from tfaudit.datasets.pipeline import training_batches
from tfaudit.datasets.prepare import prepare


def draw(path, level, size=(12, 10), mode="RGB"):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, level if mode == "L" else (level, 0, 255 - level)).save(path)


def write_images(root, splits=("train", "test"), count=3, **options):
    for split in splits:
        for label, name in enumerate(("cat", "dog")):
            for i in range(count):
                draw(root / split / name / f"{i}.png", 100 * label + i, **options)
    return root


@pytest.mark.slow
def test_splits_as_the_folders_give_them(tmp_path):
    write_images(tmp_path / "in", splits=("train", "test", "extra"))
    (tmp_path / "in" / "train" / "cat" / "notes.txt").write_text("passed over")
    prepare("pets", tmp_path / "in")
    for split in ("train", "test", "extra"):
        pets = load_dataset("pets", split)
        assert (pets.num_examples, pets.image_shape, pets.class_names) == (
            6,
            (10, 12, 3),
            ("cat", "dog"),
        )
        assert sorted(pets.example_ids) == [
            f"{split}/{c}/{i}.png" for c in ("cat", "dog") for i in range(3)
        ]
        for image, label, name in zip(pets.images, pets.labels, pets.example_ids, strict=True):
            assert name.split("/")[1] == pets.class_names[label]
            assert image[0, 0, 0] == 100 * label + int(name[-5])


def test_one_layer_sets_a_fifth_aside(tmp_path):
    for label, name in enumerate(("cat", "dog")):
        for i in range(10):
            draw(tmp_path / "in" / name / f"{i}.png", 100 * label + i)
    prepare("pets", tmp_path / "in")
    train, test = (load_dataset("pets", split) for split in ("train", "test"))
    assert np.bincount(train.labels).tolist() == [8, 8]
    assert np.bincount(test.labels).tolist() == [2, 2]
    assert len({*train.example_ids, *test.example_ids}) == 20


def test_grey_images_have_one_channel(tmp_path):
    write_images(tmp_path / "in", mode="L")
    prepare("grey", tmp_path / "in")
    assert load_dataset("grey", "test").image_shape == (10, 12, 1)


@pytest.mark.slow
def test_sizes_may_vary(tmp_path):
    root = write_images(tmp_path / "in")
    draw(root / "train" / "cat" / "wide.jpg", 5, size=(40, 10))
    draw(root / "train" / "dog" / "grey.jpeg", 5, size=(9, 30), mode="L")
    prepare("pets", root)
    pets = load_dataset("pets", "train")
    assert (pets.image_shape, pets.in_memory) == ((None, None, 3), False)
    assert_refused("vary in size", training_batches, pets, batch_size=2, seed=0)
    assert load_dataset("pets", "train", image_size=8).images.shape == (
        8,
        8,
        8,
        3,
    )


def test_a_webp_image_named_jpg_is_stored_as_pixels(tmp_path):
    root = write_images(tmp_path / "in")
    Image.new("RGB", (4, 4)).save(root / "test" / "dog" / "other.jpg", "WEBP")
    stored = {
        example["id"]: example["image"] for _, example in image_folder_files(root).splits["test"]
    }
    assert stored["test/dog/other.jpg"].shape == (4, 4, 3)


def only(*names):
    """A change of a folder to one of these images alone."""

    def change(root):
        shutil.rmtree(root)
        root.mkdir()
        for name in names:
            draw(root / name, 5)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda root: (root / "train/emu").mkdir(), "emu: got no image, expected images"),
        (
            lambda root: draw(root / "test/emu/1.png", 5),
            "in/test: got classes emu, expected classes that 'train' has too",
        ),
        (only("train/cat/1.png"), "got 1 class, expected at least 2"),
        (
            only("cat/1.png", "dog/1.png"),
            "too few images to hold out a fifth of every class",
        ),
        (only(), "got no class folders"),
        (
            only("Train/cat/1.png", "Test/cat/1.png"),
            "got splits Test, Train, expected a split that is",
        ),
        (lambda root: os.truncate(root / "test/dog/0.png", 40), "dog/0.png: got an undecodable"),
    ],
)
def test_folders_that_cannot_be_prepared(tmp_path, change, message, data_sets):
    change(write_images(tmp_path / "in"))
    assert_refused(message, prepare, "pets", tmp_path / "in")
    assert not data_sets.exists()


@pytest.mark.slow
def test_folders_within_classes_and_unreadable_images_that_are_named_ever_after(
    tmp_path, data_sets
):
    root = write_images(tmp_path / "in")
    draw(root / "train" / "dog" / "rainy" / "deep" / "7.png", 107)
    draw(root / "train" / "cat" / "__MACOSX" / "8.png", 5)
    (root / "test" / "cat" / "broken.jpg").write_bytes(b"no image")
    for name in ("train/dog/9.svg", "train/cat/8.HEIC", "test/dog/9.txt"):
        (root / name).write_bytes(b"of another format")
    for name in ("rainy/cut.png", "cut.png"):
        (root / "train" / "dog" / name).write_bytes((root / "train/dog/0.png").read_bytes()[:40])
    several = "broken.jpg: got an undecodable image .*, one of 3 such files"
    assert_refused(several, prepare, "pets", root, skip_unreadable=2, recursive=True)
    assert not (data_sets / "pets").exists()
    prepare("pets", root, skip_unreadable=3, recursive=True)
    train, test = (load_dataset("pets", split) for split in ("train", "test"))
    assert "train/dog/rainy/deep/7.png" in train.example_ids
    assert (train.num_examples, test.num_examples, train.class_names) == (7, 6, ("cat", "dog"))
    notes = (
        "3 unreadable images are left out: test/cat/broken.jpg, train/dog/cut.png, train/dog/rainy/cut.png.",
        "3 files are left out: 1 .txt, 1 .heic, 1 .svg.",
    )
    assert train.notes == test.take(3).notes == notes


def test_only_a_folder_of_images_takes_the_options_of_one(tmp_path):
    for option in ({"recursive": True}, {"skip_unreadable": 1}):
        assert_refused("as 'mnist' is no folder of images", prepare, "mnist", tmp_path, **option)
    draw(tmp_path / "cat" / "1.png", 5)
    negative = "skip_unreadable: got -1, expected 0 or more"
    assert_refused(negative, prepare, "pets", tmp_path, skip_unreadable=-1)
