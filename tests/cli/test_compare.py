"""`tfaudit compare` as a person meets it: model files and data in, tables, files or one line of refusal out."""

import keras
import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from tests.builders.refusals import refused_lines
from tfaudit import open_store, quantize
from tfaudit.analysis.recommendation import recommendation
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.model_pair.model_pair import compare
from tfaudit.cli.model_predictions import predict_models
from tfaudit.cli.options import ImageOptions
from tfaudit.predictions import Predictions


def linear(weights, *, size=8, classes=10):
    model = keras.Sequential(
        [keras.Input((size, size, 1)), keras.layers.Flatten(), keras.layers.Dense(classes)]
    )
    model.layers[-1].set_weights([weights, np.zeros(classes)])
    return model


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A linear digit classifier, a version with noise in its weights, and 100 digits as arrays and as images."""
    place, rng = tmp_path_factory.mktemp("compare"), np.random.default_rng(0)
    digits = load_digits()
    pixels = (digits.images * 15).astype(np.uint8)
    means = (
        np.stack([pixels[digits.target == label].mean(0).ravel() for label in range(10)], 1) / 255
    )
    weights = means - means.mean(1, keepdims=True)
    linear(weights).save(place / "dense.keras")
    noisy = linear(weights + rng.normal(0, 0.15, weights.shape))
    noisy.save(place / "noisy.keras")
    (place / "noisy.tflite").write_bytes(quantize(noisy, "float32"))
    linear(rng.normal(size=(64, 7)), classes=7).save(place / "seven.keras")
    linear(rng.normal(size=(256, 10)), size=16).save(place / "larger.keras")
    np.savez(place / "digits.npz", images=pixels[:100], labels=digits.target[:100])
    np.savez(place / "eleven.npz", images=pixels[:2], labels=[0, 10])
    np.savez(place / "colour.npz", images=np.zeros((2, 8, 8, 3), np.uint8), labels=[0, 1])
    for i in range(100):
        folder = place / "folder" / f"digit {digits.target[i]}"
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels[i]).save(folder / f"{i:03d}.png")
    (place / "names.txt").write_text("".join(f"digit {i}\n" for i in range(10)))
    (place / "some").mkdir()
    for label in (3, 4):
        (place / "some" / f"digit {label}").symlink_to(place / "folder" / f"digit {label}")
    return place


@pytest.fixture
def run(place, tfaudit_in):
    """Runs `tfaudit compare` in the place; gives exit code, stdout, stderr."""
    tfaudit = tfaudit_in(place)

    def run(*arguments, baseline="dense.keras", compressed=("noisy.keras",), data="digits.npz"):
        models = [word for path in compressed for word in ("--compressed", path)]
        return tfaudit("compare", "--baseline", baseline, *models, "--data", data, *arguments)

    return run


@pytest.mark.slow
def test_models_in_another_order_of_classes_are_named_in_the_first_line(run, place):
    """A model beside itself keeps 100 % of its predictions, whatever they are worth."""
    with np.load(place / "digits.npz") as data:
        np.savez(place / "rolled.npz", images=data["images"], labels=np.roll(data["labels"], 1))
    code, text, errors = run(data="rolled.npz", compressed=("dense.keras",))
    assert (code, errors) == (0, "")
    first = " ".join(text.partition("\n\n")[0].split())
    assert first.startswith("Cannot judge. The baseline is right on ")
    assert "chance alone gives" in first
    assert "Cannot judge" not in run(compressed=("dense.keras",))[1]
    model = keras.saving.load_model(place / "dense.keras", compile=False)
    model.layers[-1].set_weights([weights[..., ::-1] for weights in model.layers[-1].get_weights()])
    model.save(place / "reversed.keras")
    first = " ".join(run(compressed=("reversed.keras",))[1].partition("\n\n")[0].split())
    assert first.startswith("reversed: Cannot judge. The compressed model is right on ")
    assert "if its outputs were 9, 8, 7, 6, 5, 4, 3, 2, 1, 0. " in first


def test_named_groups_are_compared_and_stored(run, place, refused):
    halves = ["even", "odd"] * 50
    table = pd.DataFrame({"id": range(100), "half": halves, "pen": ["a"] * 3 + ["b"] * 97})
    table.to_csv(place / "halves.csv", index=False)
    options = ("--groups", "halves.csv", "--min-group", 5)
    code, text, errors = run(*options, "--group", "half", "--out", "grouped")
    assert (code, errors) == (0, "")
    before, after = answers(place, "dense.keras"), answers(place, "noisy.keras")
    expected = 100 * (1.0 * after.right() - before.right())[0].reshape(50, 2).mean(0)
    for name, change in zip(("even", "odd"), expected, strict=True):
        line = next(line for line in text.splitlines() if line.startswith(f"half: {name}"))
        assert f"{change:+.1f} (".replace("-", "−") in line
    assert list(open_store(place / "grouped").examples("test")["half"]) == halves
    assert "pen: " not in text
    every = run(*options)[1]
    assert "pen: 1 group" in every
    assert "below 5 (a)" in every
    refused(run("--min-group", 5), "--min-group: got 5, expected no such option")


def answers(place, name):
    model = keras.saving.load_model(place / name, compile=False)
    with np.load(place / "digits.npz") as data:
        return Predictions.from_scores(
            data["labels"], model(data["images"][..., None].astype("float32")).numpy()
        )


@pytest.mark.slow
def test_the_tables_say_what_the_audit_finds_in_keras_own_answers(run, place):
    code, text, errors = run("--csv", "classes.csv")
    assert (code, errors) == (0, "")
    expected = compare(answers(place, "dense.keras"), answers(place, "noisy.keras"))
    summary = expected.summary()
    assert summary["flips"] > 10
    row = next(line for line in text.splitlines() if line.startswith("noisy "))
    row = row.replace("−", "-").split()
    assert row[1] == f"{100 * summary['accuracy_after']:.2f}"
    assert row[2:5] == [
        f"{summary['change_pp']:+.2f}",
        f"({summary['change_low_pp']:+.2f},",
        f"{summary['change_high_pp']:+.2f})",
    ]
    counts = [summary[key] for key in ("negative_flips", "positive_flips", "wrong_to_other_wrong")]
    assert list(map(int, row[5:8])) == counts
    assert "100 examples of 10 classes" in text
    assert max(map(len, text.splitlines())) <= 80
    written = pd.read_csv(place / "classes.csv", dtype={"class": str})
    pd.testing.assert_frame_equal(
        written.drop(columns="model"), expected.frame(), check_dtype=False
    )
    assert set(written["model"]) == {"noisy"}


def test_flatbuffer_folder_and_arrays_agree_and_equal_stems_stay_apart(run):
    by_array = run(compressed=("noisy.keras", "noisy.tflite"))[1]
    by_folder = run(
        "--classes", "names.txt", compressed=("noisy.keras", "noisy.tflite"), data="folder"
    )[1]
    models = [line for line in by_array.splitlines() if line.startswith(("noisy ", "noisy-2 "))]
    assert len(models) == 2
    assert models[0].split()[1:8] == models[1].split()[1:8]
    assert models == [
        line for line in by_folder.splitlines() if line.startswith(("noisy ", "noisy-2 "))
    ]
    assert "Images are scaled to 8 pixels and cropped to the central square" in by_folder


def test_the_kernels_that_judge_a_file_are_told(run, place, refused):
    code, text, errors = run("--kernels", "reference", compressed=("noisy.tflite",))
    assert (code, errors) == (0, "")
    text = " ".join(text.split())
    assert "noisy.tflite is judged with reference kernels. They predict another class" in text
    refused(run("--kernels", "reference"), "kernels: got reference for Keras models, expected a .t")
    refused(run("--kernels", "fast", compressed=("noisy.tflite",)), "kernels: got 'fast', expected")


@pytest.mark.slow
def test_out_writes_a_study_with_its_report(run, place):
    code, text, errors = run("--out", "study", "--limit", "30", "--alpha", "0.1")
    assert (code, errors) == (0, "")
    assert "report:" in text
    store = open_store(place / "study")
    assert (place / "study" / "report.html").is_file()
    assert store.predictions("dense").num_examples == 30
    audit = StudyAudit.open(place / "study")
    advice = recommendation(audit, audit.verdict())
    assert dict(advice.facts)["file"] == str((place / "noisy.keras").resolve())
    assert audit.data.alpha == 0.1
    assert "--alpha 0.1" in advice.command


def read(place, compressed="noisy.keras", data="digits.npz", *, thumbnails=False, **options):
    return predict_models(
        place / "dense.keras",
        [place / compressed],
        str(place / data),
        ImageOptions(**options),
        thumbnails=thumbnails,
    )


def test_preprocessing_reaches_the_model_as_keras_does_it(place):
    pixels = np.load(place / "digits.npz")["images"][..., None].astype("float32")
    model = keras.saving.load_model(place / "dense.keras", compile=False)
    for mode, change in (("unit", lambda x: x / 255), ("tf", lambda x: x / 127.5 - 1)):
        expected = Predictions.from_scores(np.zeros(100, int), model(change(pixels)).numpy())
        found = read(place, preprocess=mode).baseline
        np.testing.assert_allclose(found.probabilities, expected.probabilities, rtol=1e-4)


@refused_lines("""
    --baseline nope.keras --compressed noisy.keras --data digits.npz
        --baseline: got nope.keras, which does not exist, expected an existing file
    --baseline dense.keras --compressed seven.keras --data digits.npz
        seven.keras: got a model of 7 classes, expected 10 classes, as in the data, or --classes FILE
    --baseline dense.keras --compressed larger.keras --data digits.npz
        larger.keras: got images of 8 x 8 x 1, expected images of 16 x 16 x 1; --image-size 16
    --baseline dense.keras --compressed noisy.keras --data colour.npz
        dense.keras: got images of 8 x 8 x 3, expected images of 8 x 8 x 1
    --baseline dense.keras --compressed noisy.keras --data eleven.npz
        labels: got 10, expected 0 to 9, the classes of the models
    --baseline dense.keras --compressed noisy.keras --data some
        dense.keras: got a model of 10 classes, expected 2 classes, as in the data, or --classes FILE
    --baseline dense.keras --compressed noisy.keras --data digits.npz --preprocess magic
        preprocess: got 'magic', expected one of none, unit, tf, caffe, torch
    --baseline dense.keras --compressed noisy.keras --data digits.npz --preprocess caffe
        preprocess: got 'caffe', expected none, unit or tf, because the images are not
    --baseline dense.keras --compressed noisy.keras --data digits.npz --baseline-preprocess half
        --baseline-preprocess: got 'half', expected one of none
    --baseline dense.keras --compressed noisy.keras --data digits.npz --classes nope.txt
        nope.txt: got an unreadable file (No such file or directory)
    --baseline dense.keras --compressed noisy.keras --data digits.npz --alpha 5
        alpha: got 5.0, expected a level in (0, 1)
    --baseline dense.keras --compressed noisy.keras --data digits.npz --batch-size 0
        --batch-size: got 0, expected 1 or more
    --baseline dense.keras --compressed noisy.keras --data digits.npz --csv names.txt/x.csv
        csv: got names.txt/x.csv, which cannot be written
""")
def test_what_does_not_fit_is_one_line(place, tfaudit_in, refused, words, message):
    refused(tfaudit_in(place)("compare", *words), message)
