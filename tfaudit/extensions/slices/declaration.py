"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from collections.abc import Iterator

from tfaudit.audits.classes.classes import WORSE
from tfaudit.audits.declaration import Declaration, Table
from tfaudit.extensions.slices.slices import Slices


def findings(title: str, result: Slices) -> Iterator[str]:
    """Yield the slices that lose more than all images, if there are any.

    Example:
        >>> import numpy as np
        >>> from tfaudit.extensions.slices.slices import slices
        >>> from tfaudit.predictions import Predictions
        >>> labels, side = np.arange(2000) % 2, np.arange(2000) // 2 % 20
        >>> top1 = np.where((side == 3) & (labels == 1), 0, labels)
        >>> pair = [Predictions.from_top1(labels, one) for one in (labels, top1)]
        >>> print(*findings("int8", slices(*pair, np.eye(20)[side])))
        int8: slice 1 (class 1) loses 100.0 points (95 %: 87.7 to 100.0).
    """
    rows = result.frame()
    for row in rows[rows["verdict"] == WORSE].to_dict("records"):
        low, high = -row["change_high_pp"], -row["change_low_pp"]
        loss = f"loses {-row['change_pp']:.1f} points ({result.level}: {low:z.1f} to {high:z.1f})"
        yield f"{title}: slice {row['slice']} ({row['description']}) {loss}."


SLICES = Declaration(
    name="slices",
    title="Slices",
    question="Which examples pay, where no group is known?",
    method=(
        "Clusters of the dense model's features that lose most on one half of the examples, each tested against all "
        "examples on the other half."
    ),
    part="Who pays",
    source="intervals [C], correction [H]",
    tables={
        "slices": Table(
            columns=(
                "slice",
                "description",
                "examples",
                "change_pp",
                "change_low_pp",
                "change_high_pp",
                "relative_p_holm",
                "accuracy_before",
                "accuracy_after",
                "verdict",
                "relative_pp",
                "relative_p",
                "searched_pp",
            ),
            report=10,
            catalogue="slices",
        ),
    },
    findings=findings,
)
