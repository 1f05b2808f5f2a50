"""`tfaudit doctor`: what is installed and prepared here."""

import importlib.util
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

from tfaudit import __version__
from tfaudit.cli.console import app, listing, out
from tfaudit.errors import EXTRAS, plural
from tfaudit.extensions import extensions
from tfaudit.population.machine import available_cores
from tfaudit.runtime.captured_output import start_tensorflow

CORE = (
    "numpy",
    "scipy",
    "pandas",
    "pyarrow",
    "PIL",
    "jinja2",
    "rich",
    "typer",
)
"""Modules that every installation has."""

FOLDER = "TFDS_DATA_DIR"  # environment variable that names the folder of the prepared data sets


@app.command()
def doctor() -> None:
    """Show versions, extras, extensions, devices, prepared data sets and free disk space.

    Example: tfaudit doctor
    """
    system = f"Python {platform.python_version()}, {platform.platform(terse=True)}"
    rows = [
        ("tfaudit", f"{__version__}, {system}"),
        *_libraries(),
        ("processors", f"{plural(available_cores(), 'core')} for this process, {_gpus()}"),
        ("extensions", ", ".join(extension.name for extension in extensions())),
        ("data sets", _data_sets()),
        *_disks(),
    ]
    out.print(listing(rows))


def _libraries() -> Iterator[tuple[str, str]]:
    """Yield the core and every extra, with the versions of their libraries."""
    owners = packages_distributions()
    groups = {"core": list(CORE)}
    for module, extra in EXTRAS.items():
        groups.setdefault(extra, []).append(module)
    for name, modules in groups.items():
        missing = [module for module in modules if importlib.util.find_spec(module) is None]
        versions = (_version(owners, module) for module in modules if module not in missing)
        lacks = f"not installed: {', '.join(missing)}; pip install 'tfaudit[{name}]'"
        yield name, "; ".join(filter(None, [", ".join(versions), lacks if missing else ""]))


def _version(owners: Mapping[str, list[str]], module: str) -> str:
    distribution = owners.get(module, [module])[0]
    try:
        return f"{distribution} {version(distribution)}"
    except PackageNotFoundError:
        return distribution


def _gpus() -> str:
    if importlib.util.find_spec("tensorflow") is None:
        return "GPUs unknown without TensorFlow"
    start_tensorflow()
    import tensorflow as tf

    details = tf.config.experimental.get_device_details
    devices = tf.config.list_physical_devices("GPU")
    names = [details(device).get("device_name", device.name) for device in devices]
    return ": ".join(filter(None, [plural(len(names), "GPU"), ", ".join(names)]))


def _data_sets() -> str:
    """Return the names of the prepared data sets, from the folders of TensorFlow Datasets; or the URL of these."""
    place = os.environ.get(FOLDER) or "~/tensorflow_datasets"
    if "://" in place:
        return f"those in {place}"
    folder = Path(place).expanduser()
    places = folder.glob("*/**/dataset_info.json")
    names = sorted({place.relative_to(folder).parts[0] for place in places})
    return ", ".join(names) or f"none in {folder}; see tfaudit prepare"


def _disks() -> Iterator[tuple[str, str]]:
    for name, place in (
        ("working directory", Path.cwd()),
        ("temporary files", Path(tempfile.gettempdir())),
    ):
        yield name, f"{place}: {shutil.disk_usage(place).free / 1e9:.1f} GB free"
