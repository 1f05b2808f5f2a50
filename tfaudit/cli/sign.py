"""`tfaudit sign`: note in a study that a person accepts or rejects a variant."""

from __future__ import annotations

from typing import Annotated

import typer

from tfaudit.cli.completion import one_of, variants
from tfaudit.cli.console import app, out
from tfaudit.cli.options import Directory, option


@app.command()
def sign(
    directory: Directory,
    variant: Annotated[
        str, typer.Argument(help="Key of a compressed variant.", autocompletion=variants)
    ],
    decision: Annotated[
        str,
        typer.Argument(
            help="accepted, rejected or “needs work”; the last one holds.",
            autocompletion=one_of("store.sign_offs:DECISIONS"),
        ),
    ],
    by: Annotated[str, option("Name of the person who decides.")],
    note: Annotated[str, option("Why, in a few words.")] = "",
) -> None:
    """Accept or reject a variant, or say that it needs work; report, Markdown, terminal and viewer show it."""
    from tfaudit.analysis.study_audit import StudyAudit

    study_audit = StudyAudit.open(directory, permutations=0)
    study_audit.sign_off(variant, decision, by=by, note=note)
    out.tell(study_audit.sign_offs[variant])
