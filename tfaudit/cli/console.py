"""The Typer application, its two output streams, and the arguments that several subcommands share."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

app = typer.Typer(
    help="Compress Keras 3 models and audit, class by class and image by image, what they forget.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def option(text: str, *names: str, panel: str | None = None) -> Any:
    """Return an option with its help text, for `Annotated`; by default it has the parameter's name."""
    return typer.Option(*names, help=text, rich_help_panel=panel)


Directory = Annotated[Path, typer.Argument(help="Directory of a study that `tfaudit run` made.")]
Alpha = Annotated[float, option("Significance level; confidence intervals have level 1 - alpha.")]
IdColumn = Annotated[
    str | None, option("Column of the example ids; by default `example`, `example_id` or `id`.", "--id")
]
Permutations = Annotated[int, option("Random reassignments of members in permutation tests; 0 for no such tests.")]
ScoresAre = Annotated[
    str, option("What scores are, where they do not show it: probabilities or logits; by default auto.", "--scores-are")
]
StudyOut = Annotated[Path | None, option("Write a study with its report.html here.", "--out")]
