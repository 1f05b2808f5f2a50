"""TFDS builders of data sets by name; nothing here accesses the network."""

import difflib
import os
import re
from pathlib import Path
from typing import Any

from tfaudit.datasets.catalogue import CATALOGUE, PREPARABLE, catalogue_entry
from tfaudit.errors import InputError, one_line
from tfaudit.runtime.captured_output import quiet_tfds

NOTES = "notes.txt"
"""File in a prepared data set's folder with what a reader needs to know of it, one sentence per line."""

NAME = re.compile(r"(\w+)(?:/([\w.\-]+))?(:\d+\.\d+\.\d+)?")


def data_folder(data_dir: str | Path | None = None) -> Path:
    """Return the folder of prepared data sets: `data_dir`, else `TFDS_DATA_DIR`, else `~/tensorflow_datasets`.

    That of a URL, such as `gs://bucket/sets`, is an `etils.epath.Path`, which has the methods of a path.
    """
    folder = data_dir or os.environ.get("TFDS_DATA_DIR") or "~/tensorflow_datasets"
    if is_url(folder):
        from etils import epath

        return epath.Path(folder)  # type: ignore[return-value]
    return Path(folder).expanduser()


def is_url(folder: str | Path) -> bool:
    """Return whether a folder is not one of this machine: a path would lose a slash of its URL."""
    return "://" in str(folder)


def find_builder(name: str, data_dir: str | Path | None = None) -> Any:
    """Return the TFDS builder of a data set, prepared or not; the error for an unknown name lists close matches."""
    import tensorflow_datasets as tfds

    parts = NAME.fullmatch(name)
    if parts is None:
        expected = "NAME, NAME/CONFIG or NAME:VERSION, such as 'mnist_corrupted/fog'"
        raise InputError("name", repr(name), expected)
    folder = data_folder(data_dir)
    try:
        with quiet_tfds():
            return tfds.builder(name, data_dir=folder)
    except tfds.core.DatasetNotFoundError:
        if catalogue_entry(name).features:
            raise not_prepared("name", name, data_dir) from None
        hint = f"a folder of images per class becomes a data set with: tfaudit prepare {name} --from FOLDER"
        expected = f"a data set's name, such as {', '.join(_similar_names(name, folder))}; {hint}"
        raise InputError("name", repr(name), expected) from None
    except (ValueError, AssertionError) as error:
        base, config, _ = parts.groups()
        configs = list(tfds.builder_cls(base).builder_configs)
        if config and config not in configs:
            close = difflib.get_close_matches(config, configs, n=5) or configs[:5]
            expected = f"{base!r}, without one"
            if close:
                expected = f"a configuration of {base!r}, such as {', '.join(close)}"
        else:
            expected = f"a version of {base!r}: {one_line(error).rpartition(': ')[2]}"
        raise InputError("name", repr(name), expected) from None


def _similar_names(name: str, folder: Path) -> list[str]:
    """Return up to three names of data sets: similar ones, or usual ones if none is similar."""
    import tensorflow_datasets as tfds

    paths = folder.iterdir() if folder.is_dir() else ()
    prepared = [path.name for path in paths if not path.name.startswith(".")]
    embedded = [key for key, entry in CATALOGUE.items() if entry.embedded]
    known = [*embedded, *prepared, *tfds.list_builders(with_community_datasets=False)]
    close = difflib.get_close_matches(name, known, n=3)
    usual = [key for key, entry in CATALOGUE.items() if not entry.parent]
    longer = [key for key in usual if key.startswith(name.lower())]
    return [*dict.fromkeys(longer + (close or ["digits", "fashion_mnist", "cifar10"]))][:3]


def notes_of(folder: str | Path) -> tuple[str, ...]:
    """Return the notes on the data set in a folder, such as which images were left out."""
    path = data_folder(folder) / NOTES
    return tuple(path.read_text(encoding="utf-8").splitlines()) if path.is_file() else ()


def command_for(name: str) -> str:
    """Return the command that gets a data set."""
    base = name.partition(":")[0]
    if base in PREPARABLE:
        return f"tfaudit prepare {base} --from PATH"
    return f"python -c \"import tensorflow_datasets as tfds; tfds.builder('{name}').download_and_prepare()\""


def not_prepared(argument: str, name: str, data_dir: str | Path | None = None) -> InputError:
    """Return the error for a data set whose files are not present; it says which command gets them."""
    problem = f"{name!r}, which is not prepared in {data_folder(data_dir)}"
    return InputError(argument, problem, f"a prepared data set; get it with: {command_for(name)}")
