"""The Typer application, its two output streams, and the arguments that several subcommands share."""

import contextlib
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

import tfaudit
from tfaudit.cli.flags import FlagCommand, errors_naming_flags
from tfaudit.cli.options import with_options_of_groups
from tfaudit.cli.outputs import check_outputs
from tfaudit.errors import InputError, printable
from tfaudit.extensions import Registry
from tfaudit.runtime.standard_streams import reserved_stdout


class PlainConsole(Console):
    """A console that prints names and paths as they are: no markup, and no character that would control a terminal.

    Example:
        >>> PlainConsole(width=60).print("study [/x]" + chr(27) + "[31m")
        study [/x]?[31m
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, highlight=False, emoji=False, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Yield the segments to print, with "?" for characters that are not printable."""
        for segment in super().render(renderable, options):
            lines = segment.text.split("\n")
            yield (
                segment
                if segment.control
                else Segment("\n".join(map(printable, lines)), segment.style)
            )

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, and cut off nothing that may not be broken, such as a command to copy."""
        super().print(*objects, **{"crop": False, **options})

    def tell(self, *parts: Any, **options: Any) -> None:
        """Print lines that are never broken, however wide the terminal is, so that a path in them can be copied."""
        self.print(*parts, soft_wrap=True, **options)

    @contextlib.contextmanager
    def alone_on_stdout(self, *, beside_output: bool = False) -> Iterator[None]:
        """Print to standard output within the block, and let nothing else do so.

        With `beside_output`, standard output is for a file that the command writes there: print to standard error.
        """
        usual = self._file
        with reserved_stdout() as results:
            self._file = sys.stderr if beside_output else results
            try:
                yield
            finally:
                self._file = usual


BAD_INPUT = 2
"""Exit code of bad input: a file that does not exist, an unknown option, a value out of range."""

BAD_INPUT_OF_GATE = 4
"""The same for commands whose code 2 is the verdict "cannot judge"."""

GATES = ("gate", "compress", "detect")
"""Commands whose exit code is a verdict."""

RESUMABLE = ("run", "compress")
"""Commands that continue what they began."""


def bad_input_code(words: Sequence[str]) -> int:
    """Return the exit code of bad input for the command that these words of the command line name.

    Example:
        >>> bad_input_code(["--import", "layers", "gate", "--help"]), bad_input_code(["run", "gate"])
        (4, 2)
    """
    values = [place + 1 for place, word in enumerate(words) if word == "--import"]
    named = (
        word for place, word in enumerate(words) if place not in values and not word.startswith("-")
    )
    return BAD_INPUT_OF_GATE if next(named, "") in GATES else BAD_INPUT


class UnexpectedError(RuntimeError):
    """An unforeseen end of a command: a defect, or user code that ends the process."""


class Command(FlagCommand):
    """A subcommand whose standard output and exit code are its own, whatever user code prints or ends with."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Parse the arguments; Typer ends with the code of its error if they are wrong."""
        try:
            return super().make_context(*arguments, **options)
        except Exception as problem:
            if getattr(problem, "exit_code", None) == BAD_INPUT:
                problem.exit_code = bad_input_code([str(self.name)])  # type: ignore[attr-defined]
            raise

    def invoke(self, context: Any) -> Any:
        """Run the command; Typer would end with 1, the code of a failed gate, if a pipe breaks or an input ends."""
        with errors_naming_flags(self.params, context.params):
            assert self.callback is not None
            writes_to_stdout = check_outputs(self.callback, context.params)
        try:
            with out.alone_on_stdout(beside_output=writes_to_stdout):
                return super().invoke(context)
        except (typer.Exit, InputError, ModuleNotFoundError):
            raise
        except KeyboardInterrupt:
            again = "; run the same command again to resume" if self.name in RESUMABLE else ""
            err.print(f"tfaudit: interrupted{again}")
            raise typer.Exit(130) from None
        except BaseException as problem:
            raise UnexpectedError(type(problem).__name__) from problem


class CommandGroup(TyperGroup):
    """The subcommands of this package, then those of extensions, which are imported when they are called or listed."""

    def list_commands(self, context: Any) -> list[str]:
        """Return the names of all subcommands."""
        return sorted(Registry("commands", self.commands))

    def get_command(self, context: Any, name: str) -> Any:
        """Return a subcommand; None if there is none of this name."""
        declared = Registry("commands", {})
        if name not in self.commands and name in declared:
            alone = Commands(add_completion=False, pretty_exceptions_enable=False)
            alone.command(name)(declared[name])
            self.commands[name] = typer.main.get_command(alone)
        return super().get_command(context, name)


class Commands(typer.Typer):
    """The application: its subcommands are `Command` by default."""

    def command(
        self, name: str | None = None, *, cls: type[TyperCommand] | None = None, **options: Any
    ) -> Any:
        """Register a subcommand, as Typer does; a `Group` of its arguments becomes one option per part.

        The help is `help`, or the docstring, whose paragraphs are wrapped to fit the terminal.
        """
        register = functools.partial(super().command, name, cls=cls or Command)

        def registered(function: Callable[..., Any]) -> Callable[..., Any]:
            text = inspect.cleandoc(options.pop("help", function.__doc__) or "")
            joined = "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))
            register(help=joined, **options)(with_options_of_groups(function))
            return function

        return registered


app = Commands(
    cls=CommandGroup,
    help=(tfaudit.__doc__ or "").partition("\n")[0],
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(shown: bool) -> None:
    if shown:
        typer.echo(f"tfaudit {tfaudit.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
    module: Annotated[
        list[str] | None,
        typer.Option(
            "--import",
            help="Module or Python file to import first, such as one with your layers; works with any command.",
        ),
    ] = None,
) -> None:
    pass


out = PlainConsole()
err = PlainConsole(stderr=True)


def listing(rows: Iterable[tuple[str, str]], *, width: int | None = None) -> Table:
    """Return a list of names in bold type, each followed by its text."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(width=width, style="bold")
    for name, text in rows:
        table.add_row(Text(name), Text(text))
    return table


def add_to_step_summary(markdown: bytes) -> None:
    """Append to the summary of a GitHub Actions job, the file in `GITHUB_STEP_SUMMARY`; do nothing elsewhere."""
    if path := os.environ.get("GITHUB_STEP_SUMMARY"):
        # A missing summary is no reason to fail.
        with (
            contextlib.suppress(OSError),
            Path(path).open("ab") as summary,
        ):
            summary.write(markdown + b"\n")
