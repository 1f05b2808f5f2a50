"""The process that quantizes for Keras on JAX or torch; see `tfaudit.compress.litert.in_tensorflow`."""

import contextlib
import importlib
import os
import pickle
import sys
import warnings
from pathlib import Path

from tfaudit.compress.litert.quantize import quantize
from tfaudit.errors import Notice
from tfaudit.runtime.user_functions import PATH_VARIABLE, extend_path


def main(place: Path) -> None:
    """Quantize the model that a folder names, and write the file or the error, and notices, into the folder."""
    extend_path(list(filter(None, os.environ[PATH_VARIABLE].split(os.pathsep))))
    path, kind, settings, modules = pickle.loads((place / "order").read_bytes())
    for module in modules:
        # It may hold nothing that this model needs; Keras names what it cannot find.
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Notice)
        try:
            result: bytes | Exception = quantize(path, kind, **settings)
        except Exception as error:
            result = error
    told = [warning.message for warning in caught if isinstance(warning.message, Notice)]
    (place / "result").write_bytes(pickle.dumps((result, told)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
