"""The candidates from which `tfaudit compress` chose the file, where a study is of its search."""

import dataclasses
from typing import Any

import pandas as pd

from tfaudit.analysis.joint_audits import JointAudit
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.declaration import Chart, Declaration, Table
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.result import Drawing, Result
from tfaudit.audits.verdict.study_verdict import CHANGES


@dataclasses.dataclass(frozen=True)
class Candidates(Result):
    """The candidates of a search: `table` has a row for each, in the order of their size."""

    table: pd.DataFrame
    notes: tuple[str, ...] = (
        "This section is measured on the selection part, all other sections on the examples that judged the file.",
    )

    def frame(self) -> pd.DataFrame:
        """Return the candidates that were made into a file."""
        return self.table[self.table["bytes"].notna()]

    @property
    def reasons(self) -> str:
        """What the table of all candidates shows."""
        left_out = len(self.table) - len(self.frame())
        return f"Why, and {left_out} that were left out" if left_out else "Why"

    def summary(self) -> dict[str, Any]:
        """Return the chosen candidate."""
        return {"chosen": self.table.loc[self.table["chosen"], "title"].iloc[0]}

    def chart(self) -> Drawing:
        """Draw the size of every candidate and the change of its worst class."""
        from tfaudit.extensions.search.chart import candidates_chart

        return candidates_chart(self.table, None)


def _candidates(study_audit: StudyAudit, limits: Limits) -> Candidates | None:
    table = study_audit.data.store.table("candidates")
    return None if table is None else Candidates(table)


CANDIDATES = JointAudit(
    compute=_candidates,
    applies=lambda data: data.store.table("candidates") is not None,
    shown=Declaration(
        name="candidates",
        title="Candidates",
        part="In use",
        question="Which files were tried, and which was chosen?",
        method=(
            "All examples judge plain files and files in floats, but for those that calibrate int8; other files are "
            "judged on the held-out part if they pass on the selection part. Each group is judged in turn up to the "
            "first that does not pass."
        ),
        charts=(
            Chart(
                description="Size of every candidate, and the change of its worst class, with intervals."
            ),
        ),
        tables={
            "tried": Table(
                title="Tried, the smallest first",
                columns=(
                    "title",
                    "chosen",
                    "outcome",
                    "judged",
                    "judged_examples",
                    "bytes",
                    "size_ratio",
                    "latency_1_ms",
                    *CHANGES,
                ),
                catalogue="candidates",
            ),
            "reasons": Table(
                title="{result.reasons}",
                columns=("title", "outcome", "reason"),
                catalogue="candidates",
                rows=lambda result: result.table,
                folded=True,
            ),
        },
        findings=lambda title, result: [f"{result.summary()['chosen']} was chosen."],
    ),
)
