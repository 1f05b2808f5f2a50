"""`tfaudit plan`: plan the numbers of members and images before anything is trained."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from tfaudit.cli.console import app, out
from tfaudit.cli.options import Alpha, option
from tfaudit.errors import require

if TYPE_CHECKING:
    from tfaudit.audits.planning.planning import Plan

GUESSES = "Guesses where there is no pilot"


@app.command()
def plan(
    pilot: Annotated[
        Path | None,
        typer.Argument(help="Directory of a pilot study, such as two members and few images."),
    ] = None,
    half_width: Annotated[
        float,
        option(
            "Target half-width of the confidence interval of a class's change, percentage points."
        ),
    ] = 2.0,
    variant: Annotated[
        str | None, option("Compressed variant of the pilot; by default its first.")
    ] = None,
    class_name: Annotated[
        str | None, option("Class of the pilot to plan for; by default the mean of all.", "--class")
    ] = None,
    accuracy: Annotated[float, option("Accuracy of a model on the class.", panel=GUESSES)] = 0.9,
    member_sd: Annotated[
        float,
        option("Standard deviation of the class's recall over members, points.", panel=GUESSES),
    ] = 1.0,
    heterogeneity: Annotated[
        float,
        option(
            "Share of the variance of right and wrong predictions that lies between images.",
            panel=GUESSES,
        ),
    ] = 0.5,
    flips: Annotated[
        float,
        option("Share of images whose prediction compression turns right or wrong.", panel=GUESSES),
    ] = 0.05,
    paired: Annotated[
        bool,
        option(
            "Each compressed member is made from a member of the baseline.",
            "--paired",
            panel=GUESSES,
        ),
    ] = False,
    members: Annotated[list[int] | None, option("Number of members to show, repeatable.")] = None,
    images: Annotated[
        list[int] | None, option("Number of images of a class to show, repeatable.")
    ] = None,
    alpha: Alpha = 0.05,
) -> None:
    """Plan a study: how precisely its members and images will tell the change of a class."""
    from tfaudit.audits.planning.planning import IMAGES, MEMBERS, guessed_spread, pilot_spread
    from tfaudit.audits.planning.planning import plan as plan_study

    shown = members or MEMBERS
    if pilot is None:
        spread = guessed_spread(
            accuracy=accuracy,
            member_sd_pp=member_sd,
            heterogeneity=heterogeneity,
            flips=flips,
            paired=paired,
        )
        source = "by guesses"
    else:
        from tfaudit.analysis.study_audit import StudyAudit
        from tfaudit.store.store import open_store

        study_audit = StudyAudit.read(open_store(pilot), alpha=alpha)
        keys = study_audit.data.compressed_keys
        require(bool(keys), "pilot", str(pilot), "a study with a compressed variant")
        key = variant or keys[0]
        measured = study_audit.measurements(key)
        spread = pilot_spread(measured, class_name)
        source = (
            f"by {study_audit.data.titles[key]} of {pilot}, {class_name or 'mean of all classes'}"
        )
        if measured.single:
            shown = [1]  # how members differ is unknown
    planned = plan_study(spread, half_width, members=shown, images=images or IMAGES, alpha=alpha)
    kind = "paired" if spread.paired else "independent"
    level = f"{100 * (1 - alpha):g} % interval"
    out.print(f"Half-width of the {level} of a class's change, points: {kind} members, {source}.\n")
    out.print(_table(planned))
    limit = f"a limit of {planned.passable_limit:.1f} points in 4 of 5 studies"
    out.print(f"\nWith a half-width of {half_width:g}, a class that loses nothing passes {limit}.")
    if 1 in planned.members:
        out.print("One member: the interval is over images and holds for these two models alone.")


def _table(planned: Plan) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    headings = (
        "members",
        *(f"{count:,} images" for count in planned.images),
        f"images for {planned.half_width:g}",
    )
    for heading in headings:
        table.add_column(heading.replace(" ", "\n"), justify="right", no_wrap=True)
    for count, widths, design in zip(
        planned.members, planned.half_widths, planned.smallest, strict=True
    ):
        enough = f"{design.images:,}" if design else "none"
        table.add_row(f"{count}", *(f"{width:.1f}" for width in widths), enough)
    return table
