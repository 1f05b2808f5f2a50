"""`tfaudit forecast`: the images of the smallest margins, in the terminal and in a file."""

import keras
import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def place(tmp_path):
    """A model that scores the only two pixels of an image, and four images."""
    model = keras.Sequential(
        [keras.Input((1, 2, 1)), keras.layers.Flatten(), keras.layers.Dense(2)]
    )
    model.layers[-1].set_weights([np.eye(2), np.zeros(2)])
    model.save(tmp_path / "dense.keras")
    images = np.array([[9, 0], [0, 9], [3, 2], [4, 9]], np.uint8).reshape(4, 1, 2, 1)
    np.savez(tmp_path / "four.npz", images=images, labels=[0, 1, 1, 1])
    return tmp_path


@pytest.mark.slow
def test_the_smallest_margins_come_first_in_terminal_and_file(place, tfaudit):
    table = place / "images.csv"
    words = ("--data", place / "four.npz", "--first", 1, "--scores-are", "logits", "--csv", table)
    code, printed, _ = tfaudit("forecast", place / "dense.keras", *words)
    assert code == 0
    assert "The first 1 of 4 examples" in printed
    assert f"{np.tanh(0.5):.4f}" in printed
    assert f"{np.tanh(2.5):.4f}" not in printed
    written = pd.read_csv(table)
    assert written["example"].tolist()[:2] == [2, 3]
    assert written["prediction"].tolist()[:2] == [0, 1]
    assert written["second"].tolist()[:2] == [1, 0]


def test_bad_input_is_one_line(place, tfaudit, refused):
    words = ("--data", place / "four.npz")
    refused(tfaudit("forecast", place / "dense.keras", *words, "--first", 0), "first: got 0")
