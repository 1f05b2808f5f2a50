"""What the audit is to a reader."""

from tfaudit.audits.declaration import Declaration, Table

CHANCE = Declaration(
    name="chance",
    title="Expected by chance",
    question=(
        "How many PIEs and significant classes appear when the members are reassigned to two groups at random "
        "(within pairs, where one is made from the other), and are there more between baseline and variant?"
    ),
    source="[PS]",
    tables={
        "counts": Table(
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
        ),
    },
)
