"""The viewer and the recipes, which stand beside the package in a checkout, and inside it when it is installed."""

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1]


class _BesidePackage(MetaPathFinder):
    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if name not in ("tfaudit.app", "tfaudit.recipes"):
            return None
        return PathFinder.find_spec(name, [str(PACKAGE.parent)])


def find_beside_package() -> None:
    """Let `tfaudit.app` and `tfaudit.recipes` be imported in a checkout, whatever is installed."""
    if not (PACKAGE / "app").is_dir():
        sys.meta_path.append(_BesidePackage())  # last, so that an editable installation comes first
