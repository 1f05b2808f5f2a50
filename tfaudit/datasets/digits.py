"""The embedded data set: scikit-learn's 1,797 real handwritten digits of 8x8 pixels (UCI, test part)."""

import numpy as np

from tfaudit.datasets.dataset import Dataset
from tfaudit.errors import require

SPLITS = ("train", "test")
TEST_EXAMPLES = 600
SPLIT_SEED = 0


def digits(split: str) -> Dataset:
    """Load the digits in memory: 1,197 to train on and 600 to test on, stratified by class, the same on every machine.

    The ids are positions in the whole set, in scikit-learn's order: `digits-00012` is `load_digits().images[12]`. The
    images are uint8 `(N, 8, 8, 1)`; the source's levels 0..16 are scaled to 0..255.

    Args:
        split: `"train"` or `"test"`.

    Raises:
        InputError: another split.

    Example:
        >>> test = digits("test")
        >>> test.images.shape, test.num_classes, str(test.example_ids[0])
        ((600, 8, 8, 1), 10, 'digits-00001')
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    require(
        split in SPLITS, "split", split, f"{' or '.join(map(repr, SPLITS))}, the splits of 'digits'"
    )
    source = load_digits()
    train, test = train_test_split(
        np.arange(len(source.target)),
        test_size=TEST_EXAMPLES,
        random_state=SPLIT_SEED,
        stratify=source.target,
    )
    positions = np.sort(train if split == "train" else test)
    pixels = np.rint(source.images[positions] * (255 / 16)).astype(np.uint8)[..., np.newaxis]
    labels = source.target[positions].astype(np.int64)
    ids = np.array([f"digits-{i:05d}" for i in positions])
    names = tuple(map(str, source.target_names))
    return Dataset(
        "digits", split, names, (8, 8, 1), len(pixels), pixels, known_labels=labels, known_ids=ids
    )
