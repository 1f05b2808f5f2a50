"""The TFDS builder of a set by name; nothing here touches the network."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path
from typing import Any

from tfaudit.errors import InputError
from tfaudit.quiet import quiet_tfds

__all__ = ["NOT_IN_TFDS", "data_folder", "find_builder"]

NOT_IN_TFDS = ("qmnist",)
"""Sets that `tfaudit prepare` lays down under a name of their own."""

NAME = re.compile(r"\w+(/[\w.\-]+)?(:\d+\.\d+\.\d+)?")


def data_folder(data_dir: str | Path | None = None) -> Path:
    """The folder of prepared sets: `data_dir`, else the variable `TFDS_DATA_DIR`, else `~/tensorflow_datasets`."""
    chosen = data_dir or os.environ.get("TFDS_DATA_DIR") or "~/tensorflow_datasets"
    return Path(chosen).expanduser()


def find_builder(name: str, data_dir: str | Path | None = None) -> Any:
    """The TFDS builder of a set by name, whether or not its files are there.

    Raises:
        InputError: The name is malformed or nothing goes by it; close matches are named.
    """
    import tensorflow_datasets as tfds

    if not NAME.fullmatch(name):
        raise InputError(f"name is {name!r}; give NAME, NAME/CONFIG or NAME:VERSION, such as 'mnist_corrupted/fog'")
    folder = data_folder(data_dir)
    try:
        with quiet_tfds():
            return tfds.builder(name, data_dir=folder)
    except tfds.core.DatasetNotFoundError:
        if name in NOT_IN_TFDS:
            raise InputError(
                f"data set {name!r} is not prepared in {folder}; get it with: tfaudit prepare {name} --from PATH"
            ) from None
        own = [p.name for p in folder.iterdir() if not p.name.startswith(".")] if folder.is_dir() else []
        known = ["digits", *own, *tfds.list_builders(with_community_datasets=False)]
        close = difflib.get_close_matches(name, known, n=3) or ["digits", "fashion_mnist", "cifar10"]
        raise InputError(
            f"name is {name!r}; no data set has it (close: {', '.join(close)}); "
            f"a folder of images per class becomes one with: tfaudit prepare {name} --from FOLDER"
        ) from None
    except (ValueError, AssertionError) as error:
        base, config, _ = re.fullmatch(r"(\w+)(?:/([\w.\-]+))?(:.*)?", name).groups()  # type: ignore[union-attr]
        configs = list(tfds.builder_cls(base).builder_configs)
        if config and config not in configs:
            close = difflib.get_close_matches(config, configs, n=5) or configs[:5]
            allowed = f"its configurations include {', '.join(close)}" if close else "it has no configurations"
        else:
            allowed = str(error).splitlines()[0].rpartition(": ")[2]
        raise InputError(f"name is {name!r}; data set {base!r} has no such variant ({allowed})") from None
