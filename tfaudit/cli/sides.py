"""The files of a baseline and of compressed models, as `--baseline` and `--compressed` name them."""

from __future__ import annotations

import glob
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfaudit.cli.console import Command, err
from tfaudit.errors import InputError
from tfaudit.runtime.names import clean_names

if TYPE_CHECKING:
    from tfaudit.predictions import Predictions
    from tfaudit.readers.prediction_files import PredictionFiles

RESERVED = ("baseline", "dense")  # names that a compressed model cannot have
MULTIWORD_OPTIONS = ("--baseline", "--compressed")  # each takes all words up to the next option


def repeat_options(words: Sequence[str]) -> Iterator[str]:
    """Repeat an option of `MULTIWORD_OPTIONS` before each of its words: a shell expands `--baseline a*` into several.

    Example:
        >>> list(repeat_options(["--baseline", "a0", "a1", "--compressed", "int8=b0", "b1", "b2", "--out", "d"]))
        ['--baseline', 'a0', '--baseline', 'a1',
         '--compressed', 'int8=b0', '--compressed', 'int8=b1', '--compressed', 'int8=b2', '--out', 'd']
    """
    option = ""  # the current one
    name = ""  # NAME= of its last word
    is_followed = False  # whether it has at least one word
    for word in words:
        if word.startswith("-"):
            head, _, value = word.partition("=")
            option = head if head in MULTIWORD_OPTIONS else ""
            is_followed = bool(value)
            name = _name(value)
        elif option:
            if is_followed:
                yield option
            is_followed = True
            own = _name(word)
            if name and not own:
                word = f"{name}={word}"
            name = own or name
        yield word


class MultiwordCommand(Command):
    """A command whose `MULTIWORD_OPTIONS` take several words."""

    def parse_args(self, context: Any, words: list[str]) -> list[str]:
        """Parse the words after repeating the options."""
        return super().parse_args(context, list(repeat_options(words)))


def read_files(
    source: PredictionFiles,
    baseline: Sequence[str],
    compressed: Sequence[str],
    *,
    verbose: bool = False,
) -> tuple[Predictions, dict[str, Predictions]]:
    """Return the populations of files of predictions: the baseline, and the compressed ones by name.

    `verbose` prints what their columns are read as.
    """
    from tfaudit.readers.prediction_files import read_populations

    files = {"": files_of(baseline, "baseline"), **variants_of(compressed)}
    populations = read_populations(source, files)
    if verbose:
        for line in lines_read_as(populations.values()):
            err.tell(line)
    return populations.pop(""), populations


def lines_read_as(populations: Iterable[Predictions]) -> list[str]:
    """Return what the columns of all files are read as, one line per plan."""
    return [*dict.fromkeys(line for population in populations for line in population.read_as)]


def variants_of(words: Sequence[str]) -> dict[str, list[Path]]:
    """Return files by variant, "compressed" for files without a name; a word without a match raises `InputError`."""
    variants: dict[str, list[str]] = {}
    for word in words:
        name = _name(word)
        files = word.removeprefix(f"{name}=") if name else word
        variants.setdefault(name or "compressed", []).append(files)
    names = clean_names(variants, "compressed")
    return {
        name: files_of(patterns, "compressed")
        for name, patterns in zip(names, variants.values(), strict=True)
    }


def names_of_models(paths: Sequence[Path]) -> list[str]:
    """Return a name for each compressed model: the stem of its file, made unique.

    Example:
        >>> names_of_models([Path("a/int8.csv"), Path("b/int8.csv"), Path("dense.csv")])
        ['int8', 'int8-2', 'dense-2']
    """
    names: list[str] = []
    for stem in clean_names([path.stem for path in paths], "compressed"):
        candidates = itertools.chain([stem], (f"{stem}-{i}" for i in itertools.count(2)))
        names.append(next(name for name in candidates if name not in (*RESERVED, *names)))
    return names


def files_of(patterns: Sequence[str], option: str) -> list[Path]:
    """Return the files that match globs, in natural order (2 before 10) within a glob.

    Raises:
        InputError: a glob without a match, or a file that matches twice.
    """
    files: list[Path] = []
    for pattern in patterns:
        matches = [pattern]
        if not Path(pattern).is_file():
            matches = sorted(glob.glob(pattern, recursive=True), key=_natural)  # noqa: PTH207
        if not matches:
            raise InputError(option, f"{pattern}, which matches no file", "files that exist")
        files += map(Path, matches)
    twice = [file for file in files if files.count(file) > 1]
    if twice:
        raise InputError(option, f"{twice[0]} twice", "each file once")
    return files


def _natural(path: str) -> list[tuple[int, str]]:
    return [
        (int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", path)
    ]


def _name(word: str) -> str:
    """Return the name before `=`; empty if the word itself is a file or a glob."""
    name, equals, _ = word.partition("=")
    return name if equals and "/" not in name and not glob.glob(word, recursive=True) else ""  # noqa: PTH207
