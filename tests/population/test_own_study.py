"""Studies of the user's own code and files, run as a new user would: from a folder of theirs, and from a notebook."""

import dataclasses
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import keras
import nbclient
import nbformat
import numpy as np
import pytest

from tests.builders.own_code import write_own
from tests.builders.refusals import assert_refused
from tests.builders.small_stores import save_examples, save_member, small_study
from tests.builders.stacks import stack
from tests.builders.tiny_studies import STUDY
from tfaudit import Pruned, Study, Training, open_store, run
from tfaudit.cli.recipes import recipe_study
from tfaudit.datasets.preview import previews
from tfaudit.population.own_training import check_own_parts
from tfaudit.population.stored_examples import load_splits
from tfaudit.stats.ranking import RankedClasses
from tfaudit.store.store import Store

STUDY_CODE = """
study = tfaudit.Study(
    name="mine", dataset=load, model=build, training=fit, population=1,
    variants=[tfaudit.Pruned(0.75), tfaudit.Quantized("int8")],
)
"""


def tfaudit_run(folder, *arguments, python=(sys.executable,)):
    words = "-P -m tfaudit run rich.py --out out --workers 1"
    command = [*python, *words.split(), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_study_of_a_file_outside_the_project_that_is_named_like_a_library(warm_python, tmp_path):
    path = write_own(tmp_path, name="rich.py", more=STUDY_CODE)
    done = tfaudit_run(tmp_path)
    assert done.returncode == 0, done.stderr
    store = open_store(tmp_path / "out")
    assert store.variants == ("dense", "magnitude-0.75", "int8")
    assert store.record("magnitude-0.75", 0)["sparsity"] == pytest.approx(0.75, abs=0.02)
    assert store.predictions("int8").ranked.shape == (1, 60, 3)
    assert store.examples().attrs["class_names"] == ["low", "middle", "high"]
    assert store.images("test", [3])[0].decode().splitlines()[4].startswith("f4: ")
    sources = {
        f"{path}:{name}": hashlib.sha256(path.read_bytes()).hexdigest()
        for name in ("build", "load", "fit")
    }
    assert json.loads((tmp_path / "out/study.json").read_text())["study"]["fingerprints"] == sources
    assert "f4: " in (tmp_path / "out/report.html").read_text()
    path.write_text(path.read_text().replace("epochs=4", "epochs=5"))
    refused = tfaudit_run(tmp_path, "--population", "2", python=warm_python)
    assert refused.returncode == 2
    assert "rich.py:build, which has changed since the members in out were made" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1


CELLS = (
    "%%writefile mine.py\nimport keras\nimport numpy as np\n\n"
    "def load(split):\n    x = np.random.default_rng(len(split)).normal(size=(60, 4)).astype('float32')\n"
    "    return x, (x[:, 0] > 0).astype(int)\n\n"
    "def build():\n    layers = [keras.layers.Dense(4, 'relu'), keras.layers.Dense(2)]\n"
    "    return keras.Sequential([keras.Input((4,)), *layers])\n",
    "import tfaudit\n"
    "def build():\n    return None\n"
    "try:\n    tfaudit.Study(name='n', dataset='mine.py:load', model=build, training=tfaudit.Training(epochs=1))\n"
    "except tfaudit.InputError as error:\n    print(error)",
    "import mine\n"
    "study = tfaudit.Study(name='n', dataset=mine.load, model=mine.build, training=tfaudit.Training(epochs=1),\n"
    "                      variants=[tfaudit.Pruned(0.5)], population=1)\n"
    "store = tfaudit.run(study, 'out', workers=1, progress='auto')\n"
    "store.variants, store.failures(), store.predictions('dense').num_examples",
)


@pytest.mark.nightly  # a study of a file runs every day, and a notebook's functions are refused every day
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Jupyter's packages
def test_a_notebook_runs_a_study(tmp_path, warm_python):
    workers = f"worker_process.COMMAND = (*{warm_python}, *worker_process.COMMAND[1:])"
    cells = (*CELLS[:2], f"from tfaudit.population import worker_process\n{workers}\n{CELLS[2]}")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    told = notebook.cells[1].outputs[0].text
    assert told.startswith(
        "model: got 'build' of a notebook or prompt, which worker processes cannot import, expected"
    )
    assert "%%writefile mine.py, then model='mine.py:build'" in told
    shown = "".join(
        output.get("text", "") + str(output.get("data", ""))
        for output in notebook.cells[2].outputs[:-1]
    )
    assert "[1/2] dense/000 done" in shown
    assert "[2/2] magnitude-0.5/000 done" in shown
    result = notebook.cells[2].outputs[-1]["data"]["text/plain"]
    assert result == "(('dense', 'magnitude-0.5'), {}, 60)"


def with_a_member(directory, study):
    """Store one complete member, made up, of a study."""
    store = Store.create(directory, study.with_fingerprints(), {})
    save_examples(store)
    save_member(store, "dense", 0, RankedClasses(np.zeros((40, 1), int)))


def keras_file(path, seed):
    keras.utils.set_random_seed(seed)
    layers = [keras.layers.Flatten(), keras.layers.Dense(10)]
    stack((8, 8, 1), *layers).save(path)


def test_a_run_that_resumes_refuses_another_model_file(tmp_path):
    keras_file(tmp_path / "net.keras", 0)
    study = dataclasses.replace(
        STUDY, model=str(tmp_path / "net.keras"), model_options={}, variants=()
    )
    with_a_member(tmp_path / "out", study)
    keras_file(tmp_path / "net.keras", 1)
    for settings in ({}, {"accept_changed_code": True}):
        assert_refused(
            r"model: got .*net.keras, which has changed since the members in",
            run,
            dataclasses.replace(study, population=3),
            tmp_path / "out",
            workers=1,
            **settings,
        )


def test_sources_may_move_and_changed_code_may_be_accepted(tmp_path):
    write_own(tmp_path / "here")
    studies = {}
    for folder in ("here", "there"):
        own = f"{tmp_path}/{folder}/own.py"
        studies[folder] = small_study(model=f"{own}:build", dataset=f"{own}:load")
    with_a_member(tmp_path / "out", studies["here"])
    write_own(tmp_path / "there")
    moved = Store.create(tmp_path / "out", studies["there"].with_fingerprints(), {})
    assert moved.study.model.endswith("there/own.py:build")
    write_own(tmp_path / "there", more="# changed")
    changed = studies["there"].with_fingerprints()
    assert_refused(
        r"model: got .*there/own.py:build, which has changed .* --accept-changed-code",
        Store.create,
        tmp_path / "out",
        changed,
        {},
    )
    accepted = Store.create(tmp_path / "out", changed, {}, accept_changed_code=True)
    assert open_store(tmp_path / "out").study == accepted.study == changed


@pytest.mark.parametrize(
    ("code", "changes", "message"),
    [
        ("def net(shape):\n    pass", {"model": "net"}, r"model: got net\(shape\) of"),
        (
            "def net(input_shape):\n    return compiled(input_shape)\n"
            "def data(split):\n    own = load(split)\n    return own.x, own.y",
            {"model": "net", "dataset": "data", "training": Training(epochs=1)},
            r"model: got .*, compiled with a loss that fails on labels of one integer per example \(ValueError: ",
        ),
        (
            "def net(input_shape):\n    nan = keras.initializers.Constant(float('nan'))\n"
            "    return keras.Sequential([keras.Input(input_shape), keras.layers.Dense(3, kernel_initializer=nan)])",
            {"model": "net"},
            "model: got .*, which gives scores of NaN or infinity before any training",
        ),
        (
            "def data(split):\n    return tfaudit.Examples(load(split).x, load(split).y, preview=lambda x: x.colour)",
            {"dataset": "data"},
            r"preview: got a function that failed for example 0 \(AttributeError: .* 'colour'\)",
        ),
        (
            "",
            {"image_size": 32},
            "image_size: got 32, expected none: '.*' returns its examples as the model takes",
        ),
        (
            "def train(model, data):\n    pass",
            {"training": "train"},
            r"training: got train\(model, data\) of",
        ),
        (
            "",
            {"corruptions": ["fog"]},
            "corruptions: got fog 1 on '.*', whose examples are no images",
        ),
        ("", {"training": 3}, "training: got 3, expected a tfaudit.Training, or a function"),
        (
            "",
            {"variants": Pruned(0.9)},
            r"variants: got Pruned, a single variant, expected a tuple of variants",
        ),
    ],
)
def test_bad_input_is_one_line_before_anything_is_written(tmp_path, code, changes, message):
    path = write_own(tmp_path, more=code)
    functions = {"dataset": "load", "model": "build", "training": "fit"}
    settings = functions | {"variants": [Pruned(0.5)]} | changes
    for name in functions:
        if isinstance(settings[name], str):
            settings[name] = f"{path}:{settings[name]}"

    def study_and_run():
        run(Study(name="s", population=1, **settings), tmp_path / "out", workers=1)

    assert_refused(message, study_and_run)
    assert not (tmp_path / "out").exists()


def test_a_name_in_place_of_a_study_is_one_line(tmp_path):
    assert_refused(
        r"study: got 'digits', expected a tfaudit.Study; the command `tfaudit run digits`",
        run,
        "digits",
        tmp_path,
    )


def test_a_file_that_runs_its_study_when_workers_import_it_is_told_how_not_to(tmp_path):
    code = "import tfaudit\ntfaudit.run(tfaudit.Study(name='s', dataset='digits', model='digits_convnet',"
    (tmp_path / "script.py").write_text(
        f"{code} training=tfaudit.Training(epochs=1)), 'out')\ndef build():\n    pass\n"
    )
    study = dataclasses.replace(STUDY, model=f"{tmp_path}/script.py:build", model_options={})
    assert_refused(
        r"expected the call under `if __name__ == .__main__.:`, since workers import the f",
        run,
        study,
        tmp_path / "out",
        workers=1,
    )


def test_members_of_a_file_have_weights_of_their_own_or_those_of_the_file():
    settings = {"name": "s", "dataset": "digits", "model": "net.keras"}
    assert Study(**settings, training=Training(epochs=2)).initialise == "fresh"
    assert Study(**settings, training=Training(epochs=0)).initialise == "file"


def test_the_example_of_the_documentation_fits_together(tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs/studies.md").read_text()
    (tmp_path / "study.py").write_text(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1])
    draw = np.random.default_rng(0)
    for split in ("train", "test"):
        np.savez(
            tmp_path / f"{split}.npz", x=draw.random((8, 2)), y=[0, 1] * 4, region=["n", "s"] * 4
        )
    monkeypatch.chdir(tmp_path)
    study = recipe_study("study.py")
    train, test = load_splits(study)
    assert next(previews(test.take(1), 64)).startswith("age: 0.")
    check_own_parts(study, train)
