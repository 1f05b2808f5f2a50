"""The page of the benchmark of compression harm: one self-contained HTML file whose tables sort and filter."""

from __future__ import annotations

from pathlib import Path

import altair as alt
import jinja2
import pandas as pd

from benchmarks.harm.entries import ESTIMATES, WIDEST, HarmBenchmark, with_ends
from tfaudit.audits.gate.chart import outcome_encoding
from tfaudit.charts.style import Drawing, row_axis, tooltips
from tfaudit.errors import require
from tfaudit.outlets.columns import Column, add_part, column
from tfaudit.outlets.grid import Grid
from tfaudit.outlets.html import drawings, page_script, style_sheet
from tfaudit.outlets.sections.section import Figure, Section
from tfaudit.outlets.templates import PAGES
from tfaudit.store.requested_files import write_requested

HERE = Path(__file__).parent

QUESTION = "Which compressor harms least?"

SHOWN = (
    *("model", "compressor", "size_share", "outcome", "accuracy_pp", "worst_class_pp"),
    *("worst_class", "harmed_classes", "negative_flips", "ties", "shift", "corruption_pp"),
    *("worst_corruption", "examples", "members", "reason", "command"),
)

RULES = (
    "A loss is as strong as its interval, which stands in brackets: 95 %, over images, and over models where there are "
    "several.",
    "The worst class is chosen after the fact, and its interval is that of this class alone. It is a finding only if "
    "it is among the harmed classes, which lost recall after Holm's correction over all classes. A worst class whose "
    f"interval is wider than {WIDEST} points has no dot and counts in no median.",
    "The verdict is that of tfaudit gate with its default limits. “Cannot judge” means too few images or models; it "
    "says nothing about the compressor.",
    "Size is that of the gzipped file relative to the uncompressed one, so that zeros count. A network with zeros or "
    "masked channels is no faster unless the channels are removed.",
)
"""What counts, a sentence or more each."""

CAVEATS = (
    "Nothing about other models or data: each row is one model on one data set, and medians over so few models have no "
    "interval.",
    "Nothing about the best that a method can do: pruned models are fine-tuned briefly, with settings that are hardly "
    "tuned.",
    "Nothing about ranks: two compressors whose intervals overlap are not told apart.",
)
"""What not to conclude."""


def _share(heading: str, help: str, form: str = ".2f") -> Column:
    return Column(heading, form, "%", 100, help)


def _points(heading: str, help: str) -> Column:
    return Column(heading, "+.2f", "pp", help=help)


COLUMNS = {
    "size_share": _share("size", "Gzipped file, relative to the uncompressed model's", ".1f"),
    "models": Column("models"),
    "accuracy_pp": _points("accuracy", "Change of top-1 accuracy, percentage points"),
    "worst_class_pp": _points("worst class", "Change of the recall of the class that loses most"),
    "worst_class": Column("which class"),
    "harmed_classes": Column("harmed", help="Classes that lost recall after Holm's correction"),
    "negative_flips": _share("newly wrong", "Images right before and wrong after"),
    "ties": _share("ties", "Predictions in which classes tie"),
    "shift": Column("shift", ".2g", help="Mean square root of the divergence of probabilities"),
    "corruption_pp": _points(
        "worst corruption", "Change of accuracy, both models under the same corruption"
    ),
    "worst_corruption": Column("which corruption"),
    "harming": Column("harming", help="Models of which it harms at least one class"),
    "passes": Column("passing", help="Models for which the gate passes it"),
    "members": Column("members", help="Compressed models that the figures are means over"),
}
"""Columns of the tables by name."""

add_part(
    "The benchmark of compression harm",
    {f"harm.{name}": entry for name, entry in COLUMNS.items()},
)

WIDTH = 330  # pixels of a panel of the chart


def write_harm_page(benchmark: HarmBenchmark, path: Path) -> Path:
    """Write the entries as a page and return its path.

    Raises:
        InputError: no entries, or a path that cannot be written.
    """
    table = benchmark.table
    require(len(table) > 0, "results", "no entries", "one or more")
    caption = "A row per compressor, the smallest file first; a mark per model."
    section = Section(
        "harm",
        caption,
        QUESTION,
        "",
        figures=(Figure("harm", harm_chart(benchmark), caption),),
        tables=(
            Grid.of("Medians over the models", benchmark.by_compressor(), table="harm"),
            Grid.of("Every entry", shown_entries(table), SHOWN, "harm"),
        ),
    )
    script, script_hash = page_script(HERE / "filter.js")
    loaders = [PAGES.loader, jinja2.FileSystemLoader(HERE)]
    pages = PAGES.overlay(loader=jinja2.ChoiceLoader(loaders))
    page = pages.get_template("page.html.j2").render(
        style=style_sheet("report.css"),
        section=section,
        drawings=drawings([section]),
        script=script,
        script_hash=script_hash,
        models=table["model"].nunique(),
        compressors=table["compressor"].nunique(),
        versions=sorted(set(table["version"])),
        rules=RULES,
        caveats=CAVEATS,
    )
    write_requested("out", path, page.encode())
    return path.absolute()


def shown_entries(table: pd.DataFrame) -> pd.DataFrame:
    """Return the entries with their intervals in the cells of their figures, as text."""
    shown = table.copy()
    for name in ESTIMATES:
        entry = column(name, "harm")
        shown[name] = [
            entry.text(value)
            if pd.isna(low)
            else f"{entry.text(value)} ({entry.text(low)} to {entry.text(high)})"
            for value, low, high in table[[*with_ends(name)]].to_numpy()
        ]
    return shown


def harm_chart(benchmark: HarmBenchmark) -> Drawing:
    """Draw a row per compressor, the smallest file first, and a dot per model: newly wrong images, and the worst class.

    A worst class that is not comparable has no dot.
    """
    table = benchmark.table
    size = table.groupby("compressor")["size_share"].transform("median")
    sizes = size.map(lambda share: f" ({share:.0%})" if share > 0 else "")
    rows = table.assign(
        size=size,
        row=table["compressor"] + sizes,
        newly_wrong=100 * table["negative_flips"],
        worst_loss=(0 - benchmark.comparable_worst_class()).clip(lower=0),
    ).sort_values("size", kind="stable")
    y = row_axis(rows["row"], limit=250)
    axis = alt.Axis(values=[0, 0.1, 1, 10, 100], format=".1~f")
    panels = [
        alt.Chart(rows, width=WIDTH, height=alt.Step(20))
        .mark_point(size=45, filled=True, opacity=0.75)
        .encode(
            x=alt.X(
                f"{name}:Q", title=title, scale=alt.Scale(type="symlog", constant=0.1), axis=axis
            ),
            y=y if place == 0 else y.axis(None),
            **outcome_encoding(rows),
            tooltip=tooltips("model:N", "compressor:N", "worst_class:N", **{name: ".2f"}),
        )
        for place, (name, title) in enumerate(
            {
                "newly_wrong": "newly wrong images, %",
                "worst_loss": "loss of the worst class's recall, points",
            }.items()
        )
    ]
    return alt.hconcat(*panels, spacing=16)
