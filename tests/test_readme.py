"""The Python of README and docs runs as it stands, links lead somewhere, and CI runs README's commands."""

import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import tfaudit
from tfaudit.cli import app
from tfaudit.cli.recipes import recipe_study
from tfaudit.datasets.prepare import prepare
from tfaudit.runtime.user_functions import import_file

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.fixture
def names(request, tmp_path, monkeypatch):
    """What a reader has who runs the blocks of a page one by one, in an empty folder and in one session."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "file:mlruns")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    if request.param == "shipping":  # whose last block sorts clothes
        monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path / "prepared"))
        prepare("fashion_mnist", made_up_clothes(tmp_path / "clothes"))
    names = {}
    for block in blocks(request.param):
        if file := re.match(r"# (\w+\.py)\n", block):
            Path(file[1]).write_text(block)
            names["study"] = recipe_study(file[1])
        else:
            exec(compile(block, request.param, "exec"), names)
        for test in [names[name] for name in names if name.startswith("test_")]:
            test()  # a reader's pytest calls it
    return names


def blocks(page):
    """The blocks of Python of a page and its scripts, but not those for environments of other compressors."""
    (path,) = (path for path in PAGES if path.stem == page)
    text = path.read_text().partition("\n## Files of other compressors\n")[0]
    text = re.sub(
        r"```{literalinclude} (\S+\.py)\n.*?```",
        lambda script: f"```python\n{(path.parent / script[1]).read_text()}```",
        text,
        flags=re.DOTALL,
    )
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def made_up_clothes(folder):
    """Write Fashion-MNIST's files with few images of noise."""
    folder.mkdir()
    for stem, count in (("train", 256), ("t10k", 20)):
        pixels = np.random.default_rng(0).integers(0, 256, count * 784, dtype=np.uint8)
        for kind, code, sides, values in (
            ("images-idx3", 0x803, (28, 28), pixels),
            ("labels-idx1", 0x801, (), np.arange(count, dtype=np.uint8) % 10),
        ):
            header = np.array([code, count, *sides], ">u4").tobytes()
            (folder / f"{stem}-{kind}-ubyte").write_bytes(header + values.tobytes())
    return folder


def sparsity_of(model):
    return tfaudit.sparsity(model).set_index("kernel").loc["total: kernels", "sparsity"]


@pytest.mark.slow
@pytest.mark.parametrize("names", ["pruning"], indirect=True)
def test_the_page_on_pruning_runs(names):
    model = keras.models.load_model("pruned.keras")
    assert sparsity_of(model) == pytest.approx(0.9, abs=0.01)
    assert sparsity_of(names["network"]) == pytest.approx(0.8, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("names", ["repair"], indirect=True)
def test_the_page_on_repair_runs(names):
    assert sparsity_of(names["model"]) == pytest.approx(0.95, abs=0.01)
    assert set(names["layers"]["layer"]) == {"conv", "logits"}
    assert names["content"][4:8] == b"TFL3"
    assert names["search"].outcome in {"pass", "cannot judge"}


@pytest.mark.slow
@pytest.mark.parametrize("names", ["first_verdict"], indirect=True)
def test_the_first_verdict_is_the_one_on_the_page(names):
    command = ["gate", "--baseline", "float.keras", "--compressed", "pruned.keras"]
    done = CliRunner().invoke(app, [*command, "--data", "images"])
    assert done.exit_code == 1, done.output
    assert "1 of 3 classes fail: circle." in done.output


@pytest.mark.slow
@pytest.mark.parametrize("names", ["shipping"], indirect=True)
def test_the_page_on_shipping_runs(names):
    assert names["classes"].shape == (600, 5)
    assert (names["classes"][:, 0] == names["test"].labels).mean() > 0.8
    assert set(names["pairs"]) == {"int8"}
    assert sparsity_of(keras.models.load_model("pruned.keras")) == pytest.approx(0.5, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("names", ["predictions"], indirect=True)
def test_the_page_on_predictions_runs(names):
    store = tfaudit.open_store("runs/sgd")
    assert store.predictions(store.variants[1]).accuracy().shape == (5,)
    assert 0.5 < (names["member"].coef_ == 0).mean() < 0.9


@pytest.mark.parametrize("names", ["slices"], indirect=True)
def test_the_page_on_slices_runs(names):
    first = names["found"].frame().iloc[0]
    assert first["verdict"] == "worse than average"
    assert names["night"][names["found"].slice_of == 1].mean() > 0.9


@pytest.mark.parametrize("names", ["forecast"], indirect=True)
def test_the_page_on_forecasts_runs(names):
    assert names["verdict"].outcome == "pass"
    complete = (
        tfaudit.Predictions.from_top1(names["truth"], names[k]) for k in ("before", "after")
    )
    whole = tfaudit.gate(*complete, names["limits"])
    assert names["verdict"].frame().equals(whole.frame())
    assert len(names["differ"]) < 0.05 * len(names["truth"])


@pytest.mark.parametrize("names", ["outcomes"], indirect=True)
def test_the_page_on_outcomes_runs(names, tfaudit):
    assert names["verdict"].outcome == "pass"
    (last,) = re.findall(
        r"tfaudit (gate .* --outcome iou \\\n.*)", (ROOT / "docs/outcomes.md").read_text()
    )
    code, printed, _ = tfaudit(*shlex.split(last.replace("\\\n", "")))
    assert (code, "60 clusters" in printed) == (1, True)
    assert 0.5 < np.mean([row[1] for row in names["rows"]]) < 0.8


@pytest.mark.slow
@pytest.mark.parametrize("names", ["studies"], indirect=True)
def test_the_page_on_studies_runs(names):
    assert len(names["study"].conditions) == 15
    assert names["foggy"].shape == names["test"].images.shape
    assert recipe_study("loop.py").name == "loop"


@pytest.mark.slow
@pytest.mark.parametrize("names", ["recipe_notes"], indirect=True)
def test_files_of_studies_run(names):
    assert names["study"].name == "undecayed"


def training_of(folder, block):
    """The training function of a page, a model and its data."""
    (folder / "training.py").write_text(blocks("studies")[block])
    fit = import_file("training", folder / "training.py").fit
    digits = tfaudit.load_dataset("digits", "train")
    train = SimpleNamespace(x=digits.images, y=digits.labels)
    layers = [keras.layers.Rescaling(1 / 255), keras.layers.Flatten(), keras.layers.Dense(10)]
    return fit, keras.Sequential([keras.Input((8, 8, 1)), *layers]), train


def test_the_loop_of_the_documentation_trains(tmp_path):
    fit, model, train = training_of(tmp_path, 2)
    losses = fit(model, train, seed=0, callbacks=[])["loss"]
    assert losses.iloc[-1] < losses.iloc[0] / 1.2


def test_the_backups_of_the_documentation_go_on_after_the_last_epoch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fit, model, train = training_of(tmp_path, 1)
    masks = tfaudit.prune(model, 0.5)

    def cut(epoch, logs):
        if epoch == 1:
            raise KeyboardInterrupt

    callbacks = [tfaudit.HoldMasks(masks), keras.callbacks.LambdaCallback(on_epoch_begin=cut)]
    with pytest.raises(KeyboardInterrupt):
        fit(model, train, seed=3, callbacks=callbacks)
    trained = model.get_weights()
    model.set_weights([0 * weight for weight in trained])
    history = fit(model, train, seed=3, callbacks=callbacks[:1])
    assert len(history.epoch) == 2
    assert tfaudit.sparsity(model)["sparsity"].iloc[0] == pytest.approx(0.5, abs=0.01)
    assert not any((tmp_path / "backups").iterdir())


def test_commands_of_the_documentation_are_understood():
    """Options and arguments are those that the command has; nothing is run."""
    commands = []
    for page in PAGES:
        text = page.read_text().replace("\\\n", " ")
        commands += re.findall(r"^    (?:\S*/)?tfaudit (\w.*)$", text, re.MULTILINE)
    for command in commands:
        name, *arguments = shlex.split(command, comments=True)
        get_command(app).get_command(None, name).make_context(name, arguments)
    assert len(commands) > 30


def test_every_page_with_python_is_run_by_a_test():
    """Outlets, devices and detection have tests of their own."""
    run = {"first_verdict", "pruning", "repair", "shipping", "predictions", "forecast", "slices"}
    run |= {"studies", "recipe_notes", "outcomes"}
    assert {page.stem for page in PAGES if blocks(page.stem)} == run | {
        "outlets",
        "devices",
        "detection",
    }


def test_python_stands_in_blocks_that_are_run():
    """An indented block holds commands, figures or layouts."""
    code = re.compile(r"^    (import \w+|from \w+ import|def |\w+ = |\w+\.\w+\()", re.MULTILINE)
    for page in PAGES:
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        assert not code.findall(text), page.name


def test_ci_runs_the_readmes_test_command():
    commands = re.findall(r"^    (python3 -m venv .*)$", README, flags=re.MULTILINE)
    assert len(commands) == 2
    script = (ROOT / ".ci/run").read_text()
    assert '".[test]"' in commands[1]
    assert 'pip install -q -e ".[test]"' in script
    assert commands[1].endswith("pytest -n 3")
    assert "\npytest -n 3\n" in script
    first = commands[0].rpartition("bin/")[2]
    assert (first, f"bin/{first} --smoke" in script) == ("tfaudit run digits", True)


def test_links_lead_to_files():
    for page in (*PAGES, ROOT / "CONTRIBUTING.md"):
        # Sphinx checks the links to pages that it generates.
        links = re.findall(r"\]\((?!https?:|generated/)([^)#]+)", page.read_text())
        assert all((page.parent / link).is_file() for link in links), (page.name, links)


def test_the_readme_is_a_front_page():
    assert len(README.splitlines()) <= 120
