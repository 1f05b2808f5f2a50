"""The Python of README and docs runs as it stands, links lead somewhere, and CI runs README's commands."""

import inspect
import re
from pathlib import Path

import keras
import numpy as np
import pytest

import tfaudit

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:ExcessGap")  # of a fit that is short, so that it is fast
def test_the_python_of_the_documentation_runs(tmp_path, monkeypatch, rng):
    """A block that does not go on from an earlier one of its page imports what it uses."""
    monkeypatch.chdir(tmp_path)
    labels = np.arange(100) % 5
    names = {
        "labels": labels,
        "dense_logits": rng.normal(size=(4, 100, 5)) + 3 * np.eye(5)[labels],
        "compressed_logits": rng.normal(size=(4, 100, 5)) + 2 * np.eye(5)[labels],
    }
    blocks = 0
    for page in PAGES:
        if page.stem in ("own_study", "outlets"):  # run by tests of their own
            continue
        if page.stem == "repair":
            for prefix, data in (("held_out_", names["test"]), ("", names["train"])):
                names[f"{prefix}images"] = data.images[:256]
                names[f"{prefix}labels"] = data.labels[:256]
            names["model"].save("dense.keras")
        begun = values_of(names)
        for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
            code, values = compile(block, page.name, "exec"), values_of(names)
            names = names if set(code.co_names) & (values.keys() - begun.keys()) else values
            exec(code, names)
            for test in [names[name] for name in names if name.startswith("test_")]:
                test()  # a reader's pytest calls it
            blocks += 1
    assert blocks == 10
    of_own_loop = tfaudit.open_store("runs/sgd")
    assert of_own_loop.predictions(of_own_loop.variants[1]).accuracy().shape == (5,)
    assert 0.5 < (names["member"].coef_ == 0).mean() < 0.9
    assert (tmp_path / "pruned.keras").exists()
    assert names["foggy"].shape == names["test"].images.shape
    assert len(names["study"].conditions) == 15
    for model, sparsity in ((keras.models.load_model("pruned.keras"), 0.9), (names["model"], 0.95)):
        kernels = tfaudit.sparsity(model).set_index("kernel")
        assert kernels.loc["total: kernels", "sparsity"] == pytest.approx(sparsity, abs=0.01)
    assert names["classes"].shape == (600, 5)
    assert (names["classes"][:, 0] == names["test"].labels).mean() > 0.8


def values_of(names):
    """A namespace without modules, classes and functions, which code must import."""
    kinds = (inspect.ismodule, inspect.isclass, inspect.isroutine)
    return {
        name: value for name, value in names.items() if not any(is_one(value) for is_one in kinds)
    }


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
        links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
        assert all((page.parent / link).is_file() for link in links), (page.name, links)


def test_the_readme_is_a_front_page():
    assert len(README.splitlines()) <= 120
