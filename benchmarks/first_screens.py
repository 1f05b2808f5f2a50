"""What the first screen says of simulated studies whose truth is known: cases, false alarms, coverage and power.

    python -m benchmarks.first_screens [cases] [alarms] [coverage] [power] [--studies 1000] [--seed 0]
        [--picture POWER.svg]

Without a choice it prints all tables, in about half an hour on one core; docs/verdict_measured.md has their worst
cells. Compressed members are made from the baseline's (paired) or trained on their own (independent); classes have
500 images where nothing else is said.
"""

import argparse
import itertools
from collections.abc import Iterator

import altair as alt
import numpy as np
import pandas as pd

from tests.builders.simulated_studies import (
    CLASSES,
    RECALLS,
    TRUTHS,
    Truth,
    expected_changes,
    simulate,
)
from tfaudit.audits.classes.classes import class_impact
from tfaudit.audits.gate.checks import FAIL
from tfaudit.audits.gate.measurements import measure
from tfaudit.audits.verdict.study_verdict import StudyVerdict, study_verdict

NULLS = {"independent": TRUTHS["nothing changes"], "paired": TRUTHS["nothing changes, pairs"]}
HURT = "Coat"


def first_screens(truth: Truth, seeds: range, **sizes: int) -> Iterator[StudyVerdict]:
    """Yield the first screens of simulated studies."""
    for seed in seeds:
        yield study_verdict({"small": measure(*simulate(truth, seed, **sizes))})


def cases(seeds: range) -> pd.DataFrame:
    """Return the first screen of one study of each truth, by number of members."""
    rows = []
    for (name, truth), members in itertools.product(TRUTHS.items(), (1, 2, 4, 30)):
        screen = next(first_screens(truth, seeds[:1], members=members))
        rows.append(
            (
                name,
                members,
                screen.frame()["outcome"][0].upper(),
                screen.headline,
                len(screen.alerts) or "-",
            )
        )
    return pd.DataFrame(rows, columns=["truth", "K", "verdict", "headline", "alerts"])


def alarms(seeds: range) -> pd.DataFrame:
    """Return the percentage of studies without an effect that claim harm, by what claims it."""
    rows = []
    for (kind, truth), members, (classes, images) in itertools.product(
        NULLS.items(), (1, 2, 4, 30), ((10, 50), (10, 500), (100, 50))
    ):
        if members == 1 and not truth.paired:
            continue  # two trainings do differ
        claims = [
            (bool(screen.lost["small"]), bool(screen.alerts), screen.frame()["outcome"][0] == FAIL)
            for screen in first_screens(
                truth, seeds, members=members, classes=classes, images=images
            )
        ]
        shares = 100 * np.mean([(*claim, any(claim)) for claim in claims], axis=0)
        rows.append((kind, members, classes, images, *shares))
    return pd.DataFrame(
        rows,
        columns=["members", "K", "classes", "images", "class lost", "alert", "FAIL", "any claim"],
    )


def coverage(seeds: range) -> pd.DataFrame:
    """Return how often, %, intervals hold the true change of a class: one loses 9 points, the others 2."""
    rows = []
    for paired, members, images in itertools.product((False, True), (2, 4, 30), (20, 50, 500)):
        truth = Truth(paired=paired, everywhere=0.02, recalls={HURT: (0.6,)})
        changes = 100 * expected_changes(truth, members)
        truths = {"change": changes, "relative": changes - changes.mean()}
        frames = [
            class_impact(*simulate(truth, s, members=members, images=images)).frame() for s in seeds
        ]
        held = [
            100
            * np.mean(
                [(f[f"{name}_low_pp"] <= true) & (true <= f[f"{name}_high_pp"]) for f in frames]
            )
            for name, true in truths.items()
        ]
        rows.append(("paired" if paired else "independent", members, images, *held))
    return pd.DataFrame(rows, columns=["members", "K", "images", "lost recall", "relative"])


def power(seeds: range) -> pd.DataFrame:
    """Return the percentage of studies whose verdict on the one class of ten that loses recall says so."""
    rows = []
    for paired, images, members, loss in itertools.product(
        (False, True), (50, 500), (2, 4, 10, 30), (1, 2, 5, 10)
    ):
        truth = Truth(paired=paired, recalls={HURT: (RECALLS[CLASSES.index(HURT)] - loss / 100,)})
        impacts = (class_impact(*simulate(truth, s, members=members, images=images)) for s in seeds)
        hits = [
            impact.frame()["verdict"][CLASSES.index(HURT)] == "lost recall" for impact in impacts
        ]
        rows.append(
            ("paired" if paired else "independent", images, members, loss, 100 * np.mean(hits))
        )
    return pd.DataFrame(rows, columns=["members", "images", "K", "loss", "power"])


def power_chart(table: pd.DataFrame) -> alt.FacetChart:
    """Draw the power by loss, a line per number of members, a panel per number of images and kind of members."""
    table = table.assign(panel=table["members"] + ", " + table["images"].astype(str) + " images")
    axis = alt.Axis(values=[1, 2, 5, 10], grid=False)
    chart = alt.Chart(table).mark_line(point=True)
    chart = chart.encode(
        alt.X(
            "loss",
            title="loss of one class, points",
            axis=axis,
            scale=alt.Scale(type="log", domain=[0.9, 11]),
        ),
        alt.Y("power", title="studies that find it, %", scale=alt.Scale(domain=[0, 100])),
        alt.Color("K:O", title="members a side", scale=alt.Scale(scheme="viridis")),
    )
    return chart.properties(width=190, height=150).facet(alt.Facet("panel", title=None), columns=2)


def printed(table: pd.DataFrame) -> None:
    """Print a table as Markdown."""
    texts = [
        [f"{value:.1f}" if isinstance(value, float) else str(value) for value in row]
        for row in table.to_numpy()
    ]
    for row in (list(table.columns), ["---"] * len(table.columns), *texts):
        print("|", " | ".join(row), "|")
    print(flush=True)


def main() -> None:
    """Print the chosen tables, and write the chart."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tables = {"cases": cases, "alarms": alarms, "coverage": coverage, "power": power}
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(tables))
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", help="SVG or PNG of the power")
    options = parser.parse_args()
    if unknown := set(options.tables) - set(tables):
        parser.error(f"tables: got {', '.join(sorted(unknown))}, expected {', '.join(tables)}")
    for name in options.tables or tables:
        table = tables[name](range(options.seed, options.seed + options.studies))
        if name == "power":
            wide = table.pivot(
                index=["members", "images", "K"], columns="loss", values="power"
            ).reset_index()
            printed(wide.rename(columns={loss: f"{loss} points" for loss in (1, 2, 5, 10)}))
            if options.picture:
                power_chart(table).save(options.picture)
        else:
            printed(table)


if __name__ == "__main__":
    main()
