"""How the audit presents itself to readers: question, source, charts, tables and findings."""

from collections.abc import Iterator

from tfaudit.audits.declaration import Declaration, Table
from tfaudit.errors import listed
from tfaudit.extensions.divergence.divergence import MORE, Divergence
from tfaudit.runtime.names import class_in_words


def findings(title: str, result: Divergence) -> Iterator[str]:
    """Yield the classes whose probabilities compression moves more than average, if there are any.

    Example:
        >>> import numpy as np
        >>> from tfaudit.extensions.divergence.divergence import divergence
        >>> from tfaudit.predictions import Predictions
        >>> labels, p = np.arange(200) % 2, np.linspace(0.5, 0.9, 200)
        >>> sides = (p, p + 0.001 * labels + 0.05 * (1 - labels))
        >>> pair = [Predictions.from_scores(labels, np.stack([side, 1 - side], 1)) for side in sides]
        >>> print(*findings("int8", divergence(*pair)))
        int8: probabilities move more than average in class 0.
    """
    rows = result.frame()
    moved = [class_in_words(name) for name in rows.loc[rows["verdict"] == MORE, "class"]]
    if moved:
        yield f"{title}: probabilities move more than average in {listed(moved)}."


DIVERGENCE = Declaration(
    name="divergence",
    title="Shifts of probabilities",
    question="Which classes does compression disturb, even where no prediction changes?",
    method=(
        "Kullback-Leibler divergence of the compressed model's probabilities from the dense model's, "
        "in each class against all examples."
    ),
    part="Who pays",
    source="[KL] [Du], intervals [C]",
    tables={
        "classes": Table(
            columns=(
                "class",
                "agreement",
                "kl",
                "shift",
                "shift_low",
                "shift_high",
                "relative_p_holm",
                "verdict",
                "examples",
            ),
            catalogue="divergence",
        ),
    },
    findings=findings,
)
