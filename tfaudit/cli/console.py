"""The Typer application, its two output streams, and the arguments that several subcommands share."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from tfaudit import __version__
from tfaudit.errors import printable


class PlainConsole(Console):
    """A console that prints names and paths as they are: no markup, and no character that would control a terminal.

    Example:
        >>> PlainConsole(width=60).print("study [/x]" + chr(27) + "[31m")
        study [/x]?[31m
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, highlight=False, emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield the segments of what is printed, with "?" for characters that are not printable."""
        for segment in super().render(renderable, options):
            lines = segment.text.split("\n")
            yield segment if segment.control else Segment("\n".join(map(printable, lines)), segment.style)


app = typer.Typer(
    help="Compress Keras 3 models and audit, class by class and image by image, what they forget.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(shown: bool) -> None:
    if shown:
        typer.echo(f"tfaudit {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
    module: Annotated[
        list[str] | None,
        typer.Option("--import", help="Import a module or Python file first, such as your layers; with any command."),
    ] = None,
) -> None:
    pass


out = PlainConsole()
err = PlainConsole(stderr=True)


def add_to_step_summary(markdown: bytes) -> None:
    """Append to the page of a GitHub Action's job, whose file `GITHUB_STEP_SUMMARY` names; elsewhere do nothing."""
    if path := os.environ.get("GITHUB_STEP_SUMMARY"):
        with contextlib.suppress(OSError), Path(path).open("ab") as summary:  # a page less is no reason to fail
            summary.write(markdown + b"\n")


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

# Of commands that predict the examples in --data.
Split = Annotated[str, option("Split of a data set, or of a folder that has splits.")]
ImageSize = Annotated[int | None, option("Scale the shorter side to this many pixels and crop the central square.")]
Crop = Annotated[int | None, option("Crop the central square of this many pixels, after any scaling.")]
Preprocess = Annotated[
    str, option("none (the model rescales pixels), unit (pixels in [0, 1]), or tf, caffe, torch as in Keras.")
]
ClassNames = Annotated[Path | None, option("Class names in the order of the outputs: one per line, or a JSON list.")]
Recursive = Annotated[bool, option("Look for images in folders within the folders of the classes.")]
SkipUnreadable = Annotated[int, option("Leave out up to this many unreadable images, which are listed.")]
Output = Annotated[str | None, option("Name of the output of models with several.", "--output")]
Limit = Annotated[int | None, option("At most this many images.")]
