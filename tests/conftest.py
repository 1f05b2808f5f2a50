"""Fixtures of all tests."""

import gc
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = os.environ.get("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["TF_NUM_INTRAOP_THREADS"] = os.environ["OMP_NUM_THREADS"] = (
    "1"  # workers of pytest-xdist have the cores
)
os.environ["PYTHONDONTWRITEBYTECODE"] = (
    ""  # otherwise each of hundreds of processes compiles tfaudit again
)

from tfaudit.population.machine import onednn_setting

os.environ |= onednn_setting()  # equal bits in workers and in this process

import hypothesis
import numpy as np
import pytest
from filelock import FileLock

from tests.builders.nightly import nightly_left_out
from tests.builders.small_stores import small_study
from tests.builders.studies import make_study
from tests.builders.tiny_studies import STUDY
from tests.builders.warm_python import warm_process
from tfaudit import open_store, run
from tfaudit.population import worker_process
from tfaudit.runtime.garbage_collection import collect_seldom
from tfaudit.store.store import Store

pytest_plugins = ["tests.builders.command_line", "tests.builders.page_tests"]
"""Fixtures of rooms and of extensions."""

sys.dont_write_bytecode = False
collect_seldom()  # a trace of TensorFlow makes many objects, and nearly all of them stay
hypothesis.settings.register_profile("any machine", deadline=None)  # a busy one is no defect
hypothesis.settings.load_profile("any machine")

PLACES = f"/usr/lib/chromium{os.pathsep}{os.environ['PATH']}"  # Debian's command is a script around the first one
CHROMIUM = shutil.which("chromium-headless-shell", path=PLACES) or shutil.which(
    "chromium"
)  # the first has no window
SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
# Pages live for seconds, too short to earn back what optimizing scripts and tidying up their memory cost.
SWITCHES += ["--js-flags=--no-opt --no-maglev --min-semi-space-size=64 --max-semi-space-size=64"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out nightly tests; begin with the modules of few slow tests.

    Theirs take longest, and workers that are idle late find short ones. Before them come all tests on the Ray
    cluster, so that it is started once, by one worker.
    """
    if left_out := nightly_left_out(config, items):
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    on_cluster = {item: "cluster" in getattr(item, "fixturenames", ()) for item in items}
    items.sort(key=lambda item: (not on_cluster[item], slow.get(item.path, len(items))))


@pytest.fixture(scope="module", autouse=True)
def _swept() -> None:
    """What earlier modules left behind, TensorFlow's millions of objects, is not looked through again and again.

    Streamlit collects garbage at every run of a page, statsmodels at every correction: ten times as slow without this.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data that TFAUDIT_DATA names; the test is skipped without it."""
    folder = os.environ.get("TFAUDIT_DATA")
    if not folder:
        pytest.skip("TFAUDIT_DATA names no folder of real data")
    return Path(folder)


@pytest.fixture
def rng() -> np.random.Generator:
    """A seeded generator, the same for every test."""
    return np.random.default_rng(0)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KB: fills up soon."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = shutil.which("mount") and os.geteuid() == 0
    if (
        not mounted
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", place], check=False
        ).returncode
    ):
        if os.environ.get("CI"):
            pytest.fail("CI must be able to mount a tmpfs")
        pytest.skip("needs the right to mount a tmpfs")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium, driven by Playwright; without it the test is skipped, and fails in CI."""
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("CI needs chromium: apt-get install chromium-headless-shell")
        pytest.skip("no chromium here: apt-get install chromium-headless-shell")
    if not os.environ.get("CI"):
        pytest.importorskip("playwright.sync_api")
    from playwright import sync_api

    sync_api.expect.set_options(timeout=30_000)  # for a busy machine
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield chromium
        chromium.close()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A test that CI could run and skips is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    could_run = os.environ.get("CI") and os.environ.get("TFAUDIT_DATA")
    if (
        could_run
        and reporter
        and reporter.stats.get("skipped")
        and session.exitstatus == pytest.ExitCode.OK
    ):
        reporter.write_line("tests were skipped that CI could run", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def made_once(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str, Callable[[Path], object]], Path]:
    """`made_once(name, make)` returns a directory that `make(directory)` fills once for all workers of pytest-xdist.

    Do not write into it.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base

    def get(name: str, make: Callable[[Path], object]) -> Path:
        directory = shared / name
        with FileLock(f"{directory}.lock"):
            if not directory.with_suffix(".made").exists():
                make(directory)
                directory.with_suffix(".made").touch()
        return directory

    return get


@pytest.fixture(scope="session")
def warm_python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """The beginning of a command that runs Python with TensorFlow imported; see `tests.builders.warm_python`."""
    base = tmp_path_factory.getbasetemp()
    with warm_process(
        (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "warm"
    ) as command:
        yield command


@pytest.fixture
def warm_workers(warm_python: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs start their worker processes with TensorFlow imported."""
    monkeypatch.setattr(worker_process, "COMMAND", (*warm_python, *worker_process.COMMAND[1:]))


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A small synthetic study on disk."""
    return make_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="session")
def trained(made_once, warm_python):
    """The tiny study with its members, and no condition. Do not write into it."""

    def make(directory):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(worker_process, "COMMAND", (*warm_python, *worker_process.COMMAND[1:]))
            run(STUDY, directory, workers=2)

    return open_store(made_once("tiny", make))


@pytest.fixture
def fake_store(tmp_path, monkeypatch):
    """A store whose workers are fake; `tmp_path` tells what they did."""
    command = (
        sys.executable,
        str(Path(__file__).parent / "builders/fake_worker.py"),
        str(tmp_path),
    )
    monkeypatch.setattr(worker_process, "COMMAND", command)
    return Store.create(tmp_path / "s", small_study(), {})
