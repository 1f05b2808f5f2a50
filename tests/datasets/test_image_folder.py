import numpy as np
import pytest
from PIL import Image

from tfaudit.datasets.image_folder import image_folder_files
from tfaudit.datasets.loading import load_dataset
from tfaudit.datasets.pipeline import training_batches
from tfaudit.datasets.prepare import prepare
from tfaudit.errors import InputError


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
    prepare("pets", tmp_path / "in", data_dir=tmp_path / "d")
    for split in ("train", "test", "extra"):
        pets = load_dataset("pets", split, data_dir=tmp_path / "d")
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
    prepare("pets", tmp_path / "in", data_dir=tmp_path / "d")
    train, test = (
        load_dataset("pets", split, data_dir=tmp_path / "d") for split in ("train", "test")
    )
    assert np.bincount(train.labels).tolist() == [8, 8]
    assert np.bincount(test.labels).tolist() == [2, 2]
    assert len({*train.example_ids, *test.example_ids}) == 20


def test_grey_images_have_one_channel(tmp_path):
    write_images(tmp_path / "in", mode="L")
    prepare("grey", tmp_path / "in", data_dir=tmp_path / "d")
    assert load_dataset("grey", "test", data_dir=tmp_path / "d").image_shape == (10, 12, 1)


@pytest.mark.slow
def test_sizes_may_vary(tmp_path):
    root = write_images(tmp_path / "in")
    draw(root / "train" / "cat" / "wide.jpg", 5, size=(40, 10))
    draw(root / "train" / "dog" / "grey.jpeg", 5, size=(9, 30), mode="L")
    prepare("pets", root, data_dir=tmp_path / "d")
    pets = load_dataset("pets", "train", data_dir=tmp_path / "d")
    assert (pets.image_shape, pets.in_memory) == ((None, None, 3), False)
    with pytest.raises(InputError, match="vary in size"):
        training_batches(pets, batch_size=2, seed=0)
    assert load_dataset("pets", "train", data_dir=tmp_path / "d", image_size=8).images.shape == (
        8,
        8,
        8,
        3,
    )


def test_a_class_without_images(tmp_path):
    root = write_images(tmp_path / "in")
    (root / "train" / "emu").mkdir()
    with pytest.raises(InputError, match=r"emu: got no image, expected files \.jpg"):
        prepare("pets", root, data_dir=tmp_path / "d")


def test_a_class_that_training_lacks(tmp_path):
    root = write_images(tmp_path / "in")
    draw(root / "test" / "emu" / "1.png", 5)
    with pytest.raises(
        InputError, match="in/test: got classes emu, expected classes that 'train' has too"
    ):
        prepare("pets", root, data_dir=tmp_path / "d")


def test_a_single_class(tmp_path):
    draw(tmp_path / "in" / "train" / "cat" / "1.png", 5)
    with pytest.raises(InputError, match="got 1 class, expected at least 2"):
        prepare("pets", tmp_path / "in", data_dir=tmp_path / "d")


def test_too_few_images_to_split(tmp_path):
    draw(tmp_path / "in" / "cat" / "1.png", 5)
    draw(tmp_path / "in" / "dog" / "1.png", 5)
    with pytest.raises(InputError, match="too few images to hold out a fifth of every class"):
        prepare("pets", tmp_path / "in", data_dir=tmp_path / "d")


def test_an_empty_folder(tmp_path):
    (tmp_path / "in").mkdir()
    with pytest.raises(InputError, match="got no class folders"):
        prepare("pets", tmp_path / "in", data_dir=tmp_path / "d")


def test_a_webp_image_named_jpg_is_stored_as_pixels(tmp_path):
    root = write_images(tmp_path / "in")
    Image.new("RGB", (4, 4)).save(root / "test" / "dog" / "other.jpg", "WEBP")
    stored = {
        example["id"]: example["image"] for _, example in image_folder_files(root).splits["test"]
    }
    assert stored["test/dog/other.jpg"].shape == (4, 4, 3)


@pytest.mark.parametrize("content", [b"", b"no image"], ids=["empty", "text"])
def test_an_image_that_cannot_be_decoded(tmp_path, content):
    root = write_images(tmp_path / "in")
    (root / "test" / "dog" / "bad.jpg").write_bytes(content)
    with pytest.raises(InputError, match=r"dog/bad.jpg: got an undecodable image"):
        prepare("pets", root, data_dir=tmp_path / "d")
    assert not (tmp_path / "d").exists()


def test_a_truncated_image(tmp_path):
    root = write_images(tmp_path / "in", size=(64, 64))
    path = root / "test" / "dog" / "0.png"
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(InputError, match=r"dog/0.png: got an undecodable image"):
        prepare("pets", root, data_dir=tmp_path / "d")


@pytest.mark.slow
def test_folders_within_classes_and_unreadable_images_that_are_named_ever_after(tmp_path):
    root = write_images(tmp_path / "in")
    draw(root / "train" / "dog" / "rainy" / "deep" / "7.png", 107)
    draw(root / "train" / "cat" / "__MACOSX" / "8.png", 5)
    (root / "test" / "cat" / "broken.jpg").write_bytes(b"no image")
    (root / "train" / "dog" / "rainy" / "cut.png").write_bytes(
        (root / "train/dog/0.png").read_bytes()[:40]
    )
    options = {"data_dir": tmp_path / "d", "recursive": True}
    with pytest.raises(
        InputError, match=r"broken.jpg: got an undecodable image .*, one of 2 such files"
    ):
        prepare("pets", root, skip_unreadable=1, **options)
    assert not (tmp_path / "d" / "pets").exists()
    prepare("pets", root, skip_unreadable=2, **options)
    train, test = (
        load_dataset("pets", split, data_dir=tmp_path / "d") for split in ("train", "test")
    )
    assert "train/dog/rainy/deep/7.png" in train.example_ids
    assert (train.num_examples, test.num_examples, train.class_names) == (7, 6, ("cat", "dog"))
    note = "2 unreadable images are left out: test/cat/broken.jpg, train/dog/rainy/cut.png."
    assert train.notes == test.take(3).notes == (note,)


def test_only_a_folder_of_images_takes_the_options_of_one(tmp_path):
    for option in ({"recursive": True}, {"skip_unreadable": 1}):
        with pytest.raises(InputError, match=r"as 'mnist' is no folder of images"):
            prepare("mnist", tmp_path, data_dir=tmp_path, **option)
    draw(tmp_path / "in" / "cat" / "1.png", 5)
    with pytest.raises(InputError, match="skip_unreadable: got -1, expected 0 or more"):
        prepare("pets", tmp_path / "in", data_dir=tmp_path, skip_unreadable=-1)
