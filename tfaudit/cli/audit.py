"""`tfaudit audit`: predictions of any framework, from files."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from tfaudit.cli.console import app, out
from tfaudit.errors import InputError, require

if TYPE_CHECKING:
    from tfaudit.predictions import Predictions

__all__ = ["Spreading", "audit", "files_of", "spread", "variants_of"]

MANY = ("--baseline", "--compressed")
"""Options that take all words up to the next option."""

HELP = (
    "Audits predictions that any framework has made, without TensorFlow.",
    "tfaudit audit --labels y.npy --baseline dense*.npy --compressed int8='q*.npy' pruned='p*.npy'",
    "A file holds scores (logits or probabilities) or top-1 classes. Arrays (.npy, .npz): floats of shape "
    "(examples, classes) or (members, examples, classes), or integers, (examples,) or (members, examples). Tables "
    "(.csv, .parquet): a column per class, or a column `prediction`; for many members a column `member`.",
    "Example ids (a column `id`, in .npz an array `ids`) are joined: all files have them, or none. Members pair in the "
    "order of their files, where 2 comes before 10. One model against one is compared image by image.",
)


def spread(words: Sequence[str]) -> Iterator[str]:
    """Repeats an option of `MANY` before each further word, as a shell leaves them that has expanded `--baseline a*`.

    Example:
        >>> list(spread(["--baseline", "a0", "a1", "--compressed", "int8=b0", "b1", "--out", "d"]))
        ['--baseline', 'a0', '--baseline', 'a1', '--compressed', 'int8=b0', '--compressed', 'int8=b1', '--out', 'd']
    """
    option, name, values = "", "", 0  # the one that takes words, NAME= of its last word, words it has taken
    for word in words:
        if word.startswith("-"):
            head, _, value = word.partition("=")
            option, values = head if head in MANY else "", int(bool(value))
            name = _name(value)
            yield word
            continue
        if option:
            if values:
                yield option
            values += 1
            if _name(word):
                name = _name(word)
            elif name:
                word = f"{name}={word}"
        yield word


class Spreading(TyperCommand):
    """A command whose options of `MANY` take several words."""

    def parse_args(self, context: Any, words: list[str]) -> list[str]:
        """Spreads the words first."""
        return super().parse_args(context, list(spread(words)))


@app.command(cls=Spreading, help="\n\n".join(HELP))
def audit(
    labels: Annotated[Path, typer.Option(help="True classes: .npy, .npz, or .csv or .parquet with a column `label`.")],
    baseline: Annotated[
        list[str], typer.Option(help="Predictions of the uncompressed models: files or a glob. A file may hold many.")
    ],
    compressed: Annotated[
        list[str],
        typer.Option(help="Predictions of the compressed ones; NAME=FILES for several variants, each with its name."),
    ],
    classes: Annotated[Path | None, typer.Option(help="Class names in order: one a line, or a JSON list.")] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="Column of the example ids; else `example`, `example_id` or `id`.")
    ] = None,
    groups: Annotated[
        Path | None, typer.Option(help="Table of what the examples belong to, such as writer; kept with --out.")
    ] = None,
    paired: Annotated[
        bool, typer.Option(help="Each compressed model was made from the baseline in its place, not trained anew.")
    ] = False,
    alpha: Annotated[float, typer.Option(help="Level of the tests; intervals are at 1 - alpha.")] = 0.05,
    permutations: Annotated[
        int, typer.Option(help="Members are reassigned at random so often to see what chance gives; 0 for not.")
    ] = 1000,
    directory: Annotated[Path | None, typer.Option("--out", help="Write a study with its report.html here.")] = None,
    name: Annotated[str | None, typer.Option(help="Of the study; the directory's by default.")] = None,
) -> None:
    """Audits predictions that any framework has made."""
    import pandas as pd

    from tfaudit.audit.summary import summary
    from tfaudit.readers.prediction_files import read_groups, read_populations
    from tfaudit.report.tables import terminal_table

    require(0 < alpha < 1, "alpha", alpha, "a level in (0, 1)")
    require(permutations >= 0, "permutations", permutations, "0 or more")
    if groups and not directory:
        raise InputError("groups: are kept in a study; give --out DIR")
    variants = variants_of(compressed)
    files = {"": files_of(baseline, "baseline"), **variants}
    populations = read_populations(labels, files, classes=classes, id_name=id_column)
    columns = read_groups(groups, labels, id_name=id_column) if groups else None
    reference = populations.pop("")
    pairs = [*populations] if paired else []
    single = all(population.num_members == 1 for population in (reference, *populations.values()))
    if single:
        _compare(reference, populations, alpha)
    if directory:
        from tfaudit.analysis.study_audit import StudyAudit
        from tfaudit.cli.report import show
        from tfaudit.store.external import import_predictions

        title = name or directory.absolute().name
        store = import_predictions(
            directory, reference, populations, name=title, dataset=labels.name, paired=pairs, groups=columns
        )
        show(StudyAudit.read(store, alpha=alpha, permutations=permutations), table=not single)
    elif not single:
        everything = {"": reference, **populations}  # no variant can have the name ""
        titles = pd.DataFrame({"title": "baseline"}, index=[""])
        found = summary(everything, titles, baseline="", alpha=alpha, permutations=permutations, paired=pairs)
        out.print(terminal_table(found))


def variants_of(words: Sequence[str]) -> dict[str, list[Path]]:
    """Files by name of the variant; those without a name are the variant "compressed".

    Raises:
        InputError: nothing matches.
    """
    variants: dict[str, list[str]] = {}
    for word in words:
        name = _name(word)
        variants.setdefault(name or "compressed", []).append(word.removeprefix(f"{name}=") if name else word)
    return {name: files_of(patterns, "compressed") for name, patterns in variants.items()}


def files_of(patterns: Sequence[str], option: str) -> list[Path]:
    """The files that globs name, those of one glob in natural order: 2 before 10.

    Raises:
        InputError: one matches nothing, or a file is named twice.
    """
    files: list[Path] = []
    for pattern in patterns:
        found = [pattern] if Path(pattern).is_file() else sorted(glob.glob(pattern, recursive=True), key=_natural)  # noqa: PTH207
        if not found:
            raise InputError(f"{option}: {pattern} matches no file")
        files += map(Path, found)
    twice = [file for file in files if files.count(file) > 1]
    if twice:
        raise InputError(f"{option}: {twice[0]} is given twice; a member counts once")
    return files


def _natural(path: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", path)]


def _name(word: str) -> str:
    """What stands before `=`, unless the word is a file or pattern that holds one itself."""
    name, equals, _ = word.partition("=")
    return name if equals and "/" not in name and not glob.glob(word, recursive=True) else ""  # noqa: PTH207


def _compare(reference: Predictions, populations: dict[str, Predictions], alpha: float) -> None:
    from tfaudit.audit.model_pair import compare
    from tfaudit.report.pair_tables import pair_tables

    pairs = {name: compare(reference, each, alpha=alpha) for name, each in populations.items()}
    out.print(pair_tables(pairs, alpha=alpha))
