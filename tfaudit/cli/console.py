"""What the subcommands share: the application they register with, the two streams they print to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

__all__ = ["Directory", "app", "err", "out"]

app = typer.Typer(
    help="Compress Keras 3 models and audit, class by class and image by image, what they forgot.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

Directory = Annotated[Path, typer.Argument(help="Directory of a study, as `tfaudit run` made it.")]
