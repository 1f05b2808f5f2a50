"""What a shell offers as the value of an option: `tfaudit --install-completion` sets it up."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import typer


def one_of(place: str) -> Callable[[str], list[str]]:
    """Return a function that completes the names in a constant, such as "stats.ranking:SCORE_KINDS"."""

    def complete(incomplete: str) -> list[str]:
        module, _, name = place.partition(":")
        names = getattr(importlib.import_module(f"tfaudit.{module}"), name)
        return [text for text in names if text.startswith(incomplete)]

    return complete


def recipe_folder() -> Path:
    """Return the folder of the recipes."""
    (folder,) = importlib.import_module("tfaudit.recipes").__path__
    return Path(folder)


def recipe_names() -> list[str]:
    """Return the names of the recipes, and import none."""
    return sorted(path.stem for path in recipe_folder().glob("[!_]*.py"))


def recipes(incomplete: str) -> list[str]:
    """Return the recipes and the Python files here that begin so."""
    files = sorted(map(str, Path().glob("*.py")))
    return [text for text in (*recipe_names(), *files) if text.startswith(incomplete)]


def variants(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the keys of the compressed variants of the study that `directory` names; they need no quotes."""
    # An option without its value ends parsing; what came before it is then left over.
    words = [ctx.params.get("directory"), *ctx.args]
    members = (path for word in words if word for path in Path(word).glob("members/*/"))
    keys = sorted(path.name for path in members if path.name != "dense")
    return [text for text in keys if text.startswith(incomplete)]
