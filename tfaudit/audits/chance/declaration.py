"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from collections.abc import Iterator

from tfaudit.audits.chance.chance import Chance
from tfaudit.audits.declaration import Chart, Declaration, Table


def certain_counts(title: str, result: Chance) -> Iterator[str]:
    """Yield the counts that are the same for every reassignment of the members."""
    counts = result.distribution().groupby("count")["value"]
    for row in result.frame().to_dict("records"):
        values = counts.get_group(row["count"])
        if values.nunique() == 1:
            yield (
                f"{title}: every reassignment gives {values.iloc[0]:,} {row['count']}, "
                f"and {row['observed']:,} are observed."
            )


CHANCE = Declaration(
    name="chance",
    title="Expected by chance",
    question="Do more examples change than chance alone would change?",
    method=(
        "The numbers of PIEs, examples whose prediction changes, and of significant "
        "classes, beside those that result when the members are reassigned to two groups at "
        "random, for variants trained independently of the baseline."
    ),
    source="[PS]",
    charts=(
        Chart(
            description="Histogram of the counts expected by chance, with the observed count.",
            shown=lambda result: len(result.distribution()) > len(result.frame()),
        ),
    ),
    overview=Table(
        columns=(
            "title",
            "count",
            "verdict",
            "observed",
            "expected",
            "low",
            "high",
            "p",
            "permutations",
            "kind",
        ),
        catalogue="chance",
        rows=lambda result: result.frame().assign(
            kind=lambda rows: rows["exact"].map({True: "all", False: "random"})
        ),
        title="Counts by chance",
        folded=True,
    ),
    findings=certain_counts,
    says_something=lambda result: not result.paired,
)
