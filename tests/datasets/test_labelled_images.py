"""Labelled images from folders, arrays and prepared sets: what is read, in which order, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from PIL import Image

from tests.builders.refusals import assert_refused
from tfaudit.datasets.labelled_images import labelled_images


def draw(path, size=(8, 8), level=0, mode="RGB"):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, level).save(path)


@pytest.fixture
def pets(tmp_path):
    for i, name in enumerate(("dog", "cat", "owl")):
        for j in range(4):
            draw(tmp_path / "pets" / name / f"{j}.png", level=(10 * i + j, 0, 0))
    return tmp_path / "pets"


def test_a_folder_gives_sorted_classes_stable_ids_and_every_pass_the_same_pixels(pets):
    images = labelled_images(str(pets))
    assert images.class_names == ("cat", "dog", "owl")
    assert images.labels.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert images.example_ids[:2].tolist() == ["cat/0.png", "cat/1.png"]
    for _ in range(2):
        batches = list(images.batches(5))
        assert [len(batch) for batch in batches] == [5, 5, 2]
        reds = np.concatenate(batches)[:, 0, 0, 0]
        assert reds.tolist() == [10, 11, 12, 13, 0, 1, 2, 3, 20, 21, 22, 23]


def test_a_limit_is_spread_over_the_classes(pets):
    images = labelled_images(str(pets), limit=6)
    assert np.bincount(images.labels).tolist() == [2, 2, 2]
    assert len(labelled_images(str(pets), limit=100).labels) == 12


def test_a_split_of_a_folder_is_taken_where_there_is_one(tmp_path):
    for split in ("train", "test"):
        draw(tmp_path / split / "cat" / f"{split}.png")
    assert labelled_images(str(tmp_path)).example_ids.tolist() == ["test/cat/test.png"]
    assert labelled_images(str(tmp_path), split="train").example_ids.tolist() == [
        "train/cat/train.png"
    ]


def test_scaling_keeps_the_middle_square_and_a_crop_does_not_scale(tmp_path):
    stripes = np.zeros((20, 40, 3), np.uint8)
    stripes[:, 10:30] = 200  # the middle square of 20
    (tmp_path / "a").mkdir()
    Image.fromarray(stripes).save(tmp_path / "a" / "x.png")

    def read(**sizes):
        return next(labelled_images(str(tmp_path), **sizes).batches(1))[0]

    assert read(image_size=10).shape == (10, 10, 3)
    assert (read(image_size=10)[:, 1:-1] == 200).all()
    assert_array_equal(read(crop=20), stripes[:, 10:30])
    assert_array_equal(read(image_size=20, crop=16), stripes[2:18, 12:28])
    assert read(image_size=10, channels=1).shape == (10, 10, 1)


def test_grey_palette_and_cmyk_files_become_rgb(tmp_path):
    for mode, name in (("L", "a.png"), ("P", "b.png"), ("CMYK", "c.jpg"), ("RGBA", "d.png")):
        draw(tmp_path / "x" / name, mode=mode)
    assert next(labelled_images(str(tmp_path)).batches(9)).shape == (4, 8, 8, 3)


def test_names_put_the_labels_in_the_order_of_the_models_outputs(pets):
    images = labelled_images(str(pets)).named(["owl", "bee", "cat", "dog"])
    assert images.class_names == ("owl", "bee", "cat", "dog")
    assert images.labels.tolist() == [2] * 4 + [3] * 4 + [0] * 4
    assert_refused(
        "classes: got names without owl, expected all 3 classes of the data",
        labelled_images(str(pets)).named,
        ["cat", "dog"],
    )
    assert_refused(
        "classes: got '3 names', expected different names",
        labelled_images(str(pets)).named,
        ["cat", "dog", "dog"],
    )


def save(tmp_path, **arrays):
    np.savez(tmp_path / "data.npz", **arrays)
    return str(tmp_path / "data.npz")


def test_arrays(tmp_path, rng):
    pixels, labels = rng.integers(0, 256, (10, 6, 6), np.uint8), np.arange(10) % 2
    images = labelled_images(
        save(tmp_path, images=pixels, labels=labels, class_names=["a", "b"]), crop=4
    )
    assert (images.class_names, images.image_shape) == (("a", "b"), (4, 4, 1))
    assert_array_equal(np.concatenate([*images.batches(3)])[..., 0], pixels[:, 1:5, 1:5])
    few = labelled_images(save(tmp_path, images=pixels, labels=labels), limit=5)
    assert (few.class_names, few.example_ids.tolist()) == (None, ["0", "2", "4", "6", "8"])


def test_a_data_set_by_its_name():
    images = labelled_images("digits", limit=30)
    assert (len(images.labels), len(images.class_names)) == (30, 10)
    assert sum(map(len, images.batches(7))) == 30


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        (
            {"images": np.zeros((2, 4, 4))},
            "got arrays images, expected arrays `images` and `labels`, `x` and",
        ),
        (
            {"images": np.zeros((2, 4)), "labels": [0, 1]},
            r"images: got float64 \(2, 4\), expected uint8 or floats",
        ),
        (
            {"images": np.array([{}, {}], object), "labels": [0, 1]},
            "got Python objects, which only running code could read",
        ),
        (
            {"pixels": [[1]], "truth": [1]},
            "got arrays pixels, truth, expected arrays `images` and `labels`",
        ),
        ({"x": [[1], [2]], "y": [0] * 6}, "got 2 in x, 6 in y from .*, expected as many examples"),
    ],
)
def test_arrays_that_cannot_be_used_are_one_line(tmp_path, arrays, words):
    assert_refused(words, labelled_images, save(tmp_path, **arrays))


def test_folders_that_cannot_be_used_are_one_line(tmp_path, pets):
    def read(**options):
        return list(labelled_images(str(pets), **options).batches(4))

    arrays = tmp_path / "not.npz"
    arrays.write_text("no")
    assert_refused("not.npz: got a file without NumPy arrays", labelled_images, str(arrays))
    scaled = "image_size: got 4, expected none, as arrays are not scaled"
    assert_refused(scaled, labelled_images, str(arrays), image_size=4)
    missing = "data: got no folder ./nowhere, expected an existing folder or .npz file"
    assert_refused(missing, labelled_images, "./nowhere")
    assert_refused("limit: got 0, expected 1 or more", read, limit=0)
    assert_refused("crop: got 9, expected at most image_size, 8", read, image_size=8, crop=9)
    assert_refused("cat/0.png, crop: got 9 pixels, expected at most 8, as an image", read, crop=9)
    draw(pets / "owl" / "wide.png", size=(9, 8))
    assert_refused("wide.png: got 8 x 9 pixels, expected 8 x 8, as the first image", read)
    (pets / "cat" / "0.png").write_bytes(b"no image")
    assert_refused("cat/0.png: got an undecodable image", read)


def test_arrays_of_any_shape_and_type(tmp_path, rng):
    """As Keras' own files name them, x and y, and one array per input."""
    x, labels = rng.integers(0, 9, (6, 4)), np.array([0, 1, 2, 0, 1, 2])
    for arrays in (
        {"x": x, "y": labels},
        {"x_train": x[:2], "y_train": labels[:2], "x_test": x, "y_test": np.eye(3)[labels]},
    ):
        data = labelled_images(save(tmp_path, **arrays))
        assert data.image_shape == ()
        assert_array_equal(np.concatenate([*data.batches(4)]), x)
        assert_array_equal(data.labels, labels)
    names = ["a", "b", "c"]
    several = save(tmp_path, tokens=x, mask=x > 3, labels=labels, class_names=names)
    data = labelled_images(several, limit=3)
    (batch,) = data.batches(9)
    assert set(batch) == {"tokens", "mask"}
    assert_array_equal(batch["mask"], (x > 3)[[0, 2, 4]])
    assert data.class_names == ("a", "b", "c")


def test_a_function_of_the_users_own(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "def load(split):\n"
        "    n = {'test': 4, 'train': 6}[split]\n"
        "    return {'text': np.array(['a', 'b'] * n)[:n], 'age': np.ones((n, 1))}, np.arange(n) % 2\n"
        "def nothing():\n"
        "    return 3\n"
    )
    data = labelled_images(f"{tmp_path}/mine.py:load")
    (batch,) = data.batches(9)
    assert batch["text"].tolist() == ["a", "b", "a", "b"]
    assert data.labels.tolist() == [0, 1, 0, 1]
    assert len(labelled_images(f"{tmp_path}/mine.py:load", split="train").labels) == 6
    for reference, words in (
        ("mine.py:nothing", "got a int from"),
        ("mine.py:none", "none"),
        ("no.py:load", "no.py"),
    ):
        assert_refused(words, labelled_images, f"{tmp_path}/{reference}")


def test_folders_within_classes_and_unreadable_images(tmp_path):
    for name in ("cat/2020/a", "dog/a", "cat/.hidden/a", "__MACOSX/cat/a", "cat/__MACOSX/a"):
        draw(tmp_path / f"{name}.png")
    flat = "cat: got 1 of 1 file that would be left out: 1 .png, expected .*--recursive for those"
    assert_refused(flat, labelled_images, str(tmp_path))
    (tmp_path / "dog" / "b.png").write_bytes(b"no image")
    (tmp_path / "dog" / "c.png").write_bytes(b"")
    data = labelled_images(str(tmp_path), recursive=True, skip_unreadable=2)
    assert data.example_ids.tolist() == ["cat/2020/a.png", "dog/a.png"]
    assert (data.labels.tolist(), data.class_names) == ([0, 1], ("cat", "dog"))
    assert len(next(data.batches(9))) == 2
    assert data.notes == ("2 unreadable images are left out: dog/b.png, dog/c.png.",)
    several = "b.png: got an undecodable image .*, one of 2 such"
    options = {"recursive": True, "skip_unreadable": 1}
    assert_refused(several, labelled_images, str(tmp_path), **options)


def test_files_that_are_left_out_are_counted_and_refused_if_they_are_many(tmp_path):
    for i in range(20):
        for name in ("cat", "dog"):
            draw(tmp_path / name / f"{i}.png")
    some = (tmp_path / "cat" / "0.png").read_bytes()
    (tmp_path / "cat" / "scraped").write_bytes(some)  # Pillow reads what the names do not tell
    (tmp_path / "cat" / "phone.HEIC").write_bytes(some)
    for name in ("dog/a.heic", "dog/b", "dog/Thumbs.db", "dog/._1.png", ".DS_Store", "cat/1.xml"):
        (tmp_path / name).write_bytes(b"no image")
    draw(tmp_path / "beside.png")
    draw(tmp_path / "dog" / "old" / "1.png")
    assert_refused(r"dog: got 3 of 23 files .* 1 \.png", labelled_images, str(tmp_path))
    (tmp_path / "dog" / "b").unlink()
    data = labelled_images(str(tmp_path))
    assert len(data.labels) == 42
    assert data.notes == (
        "4 files are left out: 1 .xml, 1 .heic; 1 image in folders within class folders, which --recursive reads; "
        "1 image beside the class folders.",
    )
    for i in range(20):
        (tmp_path / "dog" / f"{i}.avif").write_bytes(b"of another format")
    many = (
        "dog: got 22 of 42 files that would be left out: 20 .avif, 1 .heic, .*unreadable 23 leaves"
    )
    assert_refused(many, labelled_images, str(tmp_path), skip_unreadable=22)
    assert len(labelled_images(str(tmp_path), skip_unreadable=23).labels) == 42
    for i in range(20):
        (tmp_path / "dog" / f"{i}.png").unlink()
    none = "dog: got 22 of 22 files that would be left out: 20 .avif"
    assert_refused(none, labelled_images, str(tmp_path), skip_unreadable=99)


def test_links_are_followed_and_do_not_lead_in_circles(tmp_path):
    root, store = tmp_path / "in", tmp_path / "store"
    draw(root / "cat" / "0.png")
    draw(store / "dogs" / "1.png")
    draw(store / "more" / "deep" / "2.png")
    (root / "dog").symlink_to(store / "dogs")
    (root / "cat" / "more").symlink_to(store / "more")
    for name, target in (("up", root), ("itself", root / "cat"), ("twice", store / "more")):
        (root / "cat" / name).symlink_to(target)
    data = labelled_images(str(root), recursive=True)
    assert data.example_ids.tolist() == ["cat/0.png", "cat/more/deep/2.png", "dog/1.png"]
    (root / "owl").symlink_to(tmp_path / "nowhere")
    assert_refused("owl: got a link that leads nowhere", labelled_images, str(root))


@pytest.mark.parametrize(
    ("images", "options", "message"),
    [
        (
            ["train/cat/1", "train/dog/1", "val/cat/1", "val/dog/1"],
            {},
            "split: got 'test', expected a split of .*: train, val$",
        ),
        (["Train/cat/1", "valid/cat/1"], {"recursive": True}, "a split of .*: Train, valid$"),
        (["train/cat/1", "test/1"], {}, "split: got 'test', expected a split of .*: train$"),
        (["training_set/1", "Testing/1"], {}, "got Testing, training_set without class folders"),
        (["cat/1", "dog/1", "test/1"], {}, "got test without class folders"),
        (["cat/1", "dog/1"], {"split": "val"}, "split: got 'val', expected none, as .* has no"),
        (["all/train/cat/1", "all/dev/cat/1"], {"recursive": True}, "all: got the split dev with"),
        (["test/test/cat/1"], {"recursive": True}, "test: got the split test within it"),
        (["cat/train/1", "cat/test/1"], {}, "cat: got the split test within a class folder"),
    ],
)
def test_splits_are_never_taken_for_classes(tmp_path, images, options, message):
    for name in images:
        draw(tmp_path / f"{name}.png")
    assert_refused(message, labelled_images, str(tmp_path), **options)


def test_a_train_beside_other_vehicles_is_a_class(tmp_path):
    for name in ("bus", "train"):
        draw(tmp_path / name / "1.png")
    assert labelled_images(str(tmp_path)).class_names == ("bus", "train")


def test_classes_are_those_of_all_splits_so_that_their_numbers_agree(tmp_path):
    for name in ("train/ant/1", "train/bee/1", "train/cow/1", "test/cow/1", "test/bee/1"):
        draw(tmp_path / f"{name}.png")
    for _ in range(2):
        data = labelled_images(str(tmp_path))
        assert (data.class_names, data.labels.tolist()) == (("ant", "bee", "cow"), [1, 2])
        (tmp_path / "test" / "ant").mkdir(exist_ok=True)
    (tmp_path / "test" / "emu").mkdir()
    assert_refused("emu: got no image", labelled_images, str(tmp_path))


def test_some_examples_only_keep_their_order_and_fill_batches(tmp_path):
    pixels = np.arange(7 * 4, dtype=np.uint8).reshape(7, 2, 2, 1)
    images = labelled_images(save(tmp_path, images=pixels, labels=np.arange(7)))
    some = images.only(["6", "1", "2", "4"], "ids.csv")
    assert some.labels.tolist() == [*map(int, some.example_ids)] == [1, 2, 4, 6]
    for size in (1, 3, 4, 9):
        batches = list(some.batches(size))
        assert_array_equal(np.concatenate(batches), pixels[[1, 2, 4, 6]])
        assert [len(batch) for batch in batches[:-1]] == [size] * (len(batches) - 1)
    assert_refused(
        r"examples: got 1 ids in ids.csv that the data lack, such as '9', expected",
        images.only,
        ["1", "9"],
        "ids.csv",
    )
