"""Finished studies that come with the package: predictions and small images, no models."""

import importlib.resources
import shutil
import tempfile
import zipfile
from importlib.resources.abc import Traversable
from pathlib import Path

from tfaudit.errors import InputError


def example_studies() -> dict[str, Traversable]:
    """Return the archives by name; each holds a study's directory as `save_small_copy` writes it."""
    archives = importlib.resources.files("tfaudit.cli").joinpath("examples").iterdir()
    return {
        path.name.removesuffix(".zip"): path
        for path in sorted(archives, key=str)
        if path.name.endswith(".zip")
    }


def unpack_example(name: str, folder: Path) -> Path:
    """Unpack an example into a folder, completely or not at all, and return its directory; an existing one is kept."""
    examples = example_studies()
    if name not in examples:
        raise InputError("example", name, ", ".join(examples))
    target = folder / f"{name}_example"
    if not (target / "study.json").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as work, examples[name].open("rb") as file:
            with zipfile.ZipFile(file) as archive:
                archive.extractall(Path(work) / name)
            shutil.rmtree(target, ignore_errors=True)
            (Path(work) / name).rename(target)
    return target
