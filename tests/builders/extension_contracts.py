"""What the tests of extensions add to tests of all audits: `contracts.py` of each folder in `tests/extensions/`."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EXTENSIONS = Path(__file__).parents[1] / "extensions"


def contributed(name: str) -> Iterator[Any]:
    """Yield what the lists called `name` of all extensions hold."""
    for place in sorted(EXTENSIONS.glob("*/contracts.py")):
        module = importlib.import_module(f"tests.extensions.{place.parent.name}.contracts")
        yield from getattr(module, name, ())
