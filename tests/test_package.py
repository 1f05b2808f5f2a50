"""The package as a whole: names, documents, rooms and the wheel."""

import ast
import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tfaudit

ROOT = Path(__file__).parents[1]
MODULES = [m.name for m in pkgutil.walk_packages(tfaudit.__path__, "tfaudit.") if m.name != "tfaudit.population.worker"]


def test_importing_tfaudit_imports_no_tensorflow():
    code = "import sys, tfaudit; tfaudit.Study; assert not {'tensorflow', 'keras', 'streamlit'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_command_line_starts_without_heavy_libraries():
    heavy = {"tensorflow", "keras", "streamlit", "altair", "pandas", "pyarrow", "scipy", "numpy", "rich.progress"}
    code = f"import sys, tfaudit.cli; print(*sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stdout.split()


def test_every_public_name_is_there_and_documented():
    for name in tfaudit.__all__:
        thing = getattr(tfaudit, name)
        assert name == "__version__" or (inspect.getdoc(thing) or "").strip(), name
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        tfaudit.nope


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is_for_and_lists_its_names(name):
    module = importlib.import_module(name)
    assert (module.__doc__ or "").strip()
    if name.startswith(("tfaudit.recipes", "tfaudit.app")) or hasattr(module, "__path__"):
        return
    for public in module.__all__:
        thing = getattr(module, public)
        if callable(thing) and not isinstance(thing, type(list[int])):
            assert (inspect.getdoc(thing) or "").strip(), f"{name}.{public}"


def rooms_imported(path):
    """The rooms of tfaudit that a file imports when it is loaded; imports inside functions are deliberate."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tfaudit."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("tfaudit."))


MAY_IMPORT = {
    "predictions": {"errors"},
    "variants": {"errors"},
    "rounds": {"errors", "variants"},
    "conditions": {"errors"},
    "training": {"errors"},
    "study": {"conditions", "errors", "training", "variants"},
    "files": {"errors"},
    "parquet": {"errors"},
    "records": {"errors", "files", "study"},
    "evaluations": {"errors", "parquet", "records"},
    "store": {"conditions", "errors", "evaluations", "files", "parquet", "predictions", "records", "study"},
    "answer_file": {"errors"},
    "raters": {"errors"},
    "answers": {"answer_file", "audit", "errors", "raters"},
    "given": {"errors", "files", "parquet", "predictions", "audit", "store", "study", "variants"},
    "formats": {"errors", "formats"},
    "prediction_files": {"errors", "formats", "predictions", "stats"},
    "stats": {"errors", "stats"},
    "audit": {"errors", "predictions", "stats", "audit"},
    "results": {"errors"},
    "report": {
        "answers",
        "conditions",
        "errors",
        "variants",
        "parquet",
        "predictions",
        "results",
        "stats",
        "audit",
        "store",
        "study",
        "report",
    },
    "app": {"answers", "app", "audit", "errors", "files", "raters", "report", "store"},
    "models": {"errors", "models"},
    "datasets": {"conditions", "errors", "chatter", "datasets"},
    "compress": {"errors", "chatter", "compress"},
    "population": {
        "conditions",
        "errors",
        "chatter",
        "files",
        "variants",
        "study",
        "parquet",
        "store",
        "compress",
        "models",
        "datasets",
        "population",
        "stats",
    },
}


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_imports_flow_one_way(room):
    place = ROOT / ("" if room == "app" else "tfaudit") / room
    for path in sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]:
        assert set(rooms_imported(path)) <= MAY_IMPORT[room], path


def test_files_stay_short():
    for path in [*ROOT.glob("tfaudit/**/*.py"), *ROOT.glob("app/*.py"), *ROOT.glob("recipes/*.py")]:
        assert len(path.read_text().splitlines()) <= 300, f"{path} is more than one idea"


@pytest.mark.slow
def test_a_wheel_works_outside_the_checkout(tmp_path):
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    source = tmp_path / "source"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for file in filter(None, tracked.split("\0")):
        if (ROOT / file).is_file():
            (source / file).parent.mkdir(parents=True, exist_ok=True)
            (source / file).write_bytes((ROOT / file).read_bytes())
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path, source], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert tops == {"tfaudit", f"tfaudit-{tfaudit.__version__}.dist-info"}
    subprocess.run([*pip, "install", "--no-deps", "--target", tmp_path / "site", wheel], check=True)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    code = "import tfaudit.app.viewer as v, tfaudit.cli as c; assert v.ICON.exists(); print(c.__file__, v.__file__)"
    where = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert where.stdout.count(str(tmp_path / "site")) == 2
    command = [sys.executable, "-m", "tfaudit.cli", "run", "digits", "--smoke", "--out", "out"]
    command += ["--population", "1", "--workers", "1"]
    subprocess.run(command, env=environment, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    assert "<svg" in (tmp_path / "out/report.html").read_text()
