"""The example at the end of every command's help runs, and every help fits a terminal of 80 columns."""

import json
import os
import re
import shlex

import keras
import numpy as np
import pytest
import typer
from PIL import Image

from tests.builders.studies import make_study
from tfaudit import quantize
from tfaudit.cli import app
from tfaudit.cli.console import GATES

CONTEXT = typer.Context(typer.main.get_command(app))
COMMANDS = CONTEXT.command.list_commands(CONTEXT)


def example_of(command):
    """The example at the end of a command's help, without `tfaudit`."""
    text = CONTEXT.command.get_command(CONTEXT, command).help
    return re.search(r"^Example: tfaudit (.*)", text, re.MULTILINE)[1]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Dark and light images, a model that tells them apart, their predictions, and a study of five classes."""
    place, draws = tmp_path_factory.mktemp("examples"), np.random.default_rng(0)
    labels = np.arange(120) % 2
    pixels = draws.normal(np.where(labels, 190, 60)[:, None], 20, (120, 48)).clip(0, 255)
    images = pixels.astype("uint8").reshape(120, 4, 4, 3)
    for i, label in enumerate(labels):
        folder = place / "photographs" / ("dark", "light")[label]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(images[i]).save(folder / f"{i}.png")
    np.savez(place / "x.npz", images=images, labels=labels)
    layers = [keras.layers.Rescaling(1 / 255), keras.layers.Flatten(), keras.layers.Dense(2)]
    model = keras.Sequential([keras.Input((4, 4, 3)), *layers])
    layers[-1].set_weights([np.outer(np.ones(48), [-1, 1]) / 48, np.array([0.5, -0.5])])
    model.save(place / "a.keras")
    (place / "b.tflite").write_bytes(quantize(model, "float32"))
    for name in ("y", "dense0", "dense1", "q0", "q1", "p0", "p1"):
        np.save(place / f"{name}.npy", labels)
    make_study(place / "runs/digits", members=2)
    np.save(place / "features.npy", draws.normal(size=(200, 3)))
    write_boxes(place)
    return place


def write_boxes(place):
    """One box in each of thirty images, found by both detectors."""
    box = {"category_id": 1, "bbox": [8, 8, 16, 16]}
    numbers = range(1, 31)
    truth = {
        "images": [{"id": i, "width": 32, "height": 32, "file_name": f"{i}.png"} for i in numbers],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{**box, "id": i, "image_id": i} for i in numbers],
    }
    (place / "truth.json").write_text(json.dumps(truth))
    for name in ("a", "b"):
        found = [{**box, "image_id": i, "score": 0.9} for i in numbers]
        (place / f"{name}.json").write_text(json.dumps(found))


@pytest.fixture
def tfaudit(tfaudit_in, place, monkeypatch):
    """Runs a command in the place; nothing is trained, drawn or served."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("tfaudit.charts.rendering.inline_svg", lambda *_, **__: "<svg></svg>")
    monkeypatch.setattr(
        "tfaudit.population.run.run_study",
        lambda study, directory, *_, **__: make_study(directory, members=2),
    )
    monkeypatch.setattr(os, "execv", lambda *_: None)
    return tfaudit_in(place)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_every_example_runs(tfaudit, command):
    words = shlex.split(example_of(command))
    assert words[0] == command
    code, _, errors = tfaudit(*words)
    assert code in ((0, 1, 2) if command in GATES else (0,)), errors
    assert all(line.startswith("tfaudit: ") for line in errors.splitlines()), errors


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_shows_its_example_and_whole_titles(tfaudit, command):
    code, text, _ = tfaudit(command, "--help")
    assert code == 0
    assert example_of(command) in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80
    titles = re.findall("╭─ (.*?)─*╮", text)
    assert titles
    assert all(title.endswith(" ") for title in titles), titles
