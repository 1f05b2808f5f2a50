"""The table of a study: every variant against the dense baseline, [F] table 2."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from tfaudit.audit.chance import Chance
from tfaudit.audit.classes import ClassImpact
from tfaudit.audit.exemplars import Exemplars
from tfaudit.audit.variant_audit import VariantAudit, audit_variant
from tfaudit.errors import InputError, listed, require
from tfaudit.predictions import Predictions
from tfaudit.stats.change import relative_change

if TYPE_CHECKING:
    from tfaudit.charts.style import Drawing

__all__ = ["Summary", "summarise", "summary"]

_DESCRIPTION = ("title", "family", "sparsity", "bytes", "gzipped_bytes")


@dataclasses.dataclass(frozen=True)
class Summary:
    """All audits of a study.

    Attributes:
        baseline: key of the uncompressed population.
        table: one row per variant; see `frame`.
        impacts: class impact per compressed variant; without those that have, or whose baseline has, a single member.
        exemplars: PIEs per compressed variant.
        chances: permutation tests per compressed variant; without those that cannot be made.
        accuracies: one row per `variant`, `title`, `member` and `k`: the member's top-k `accuracy`, a share.
        alpha: level of the tests.
        notes: what a reader has to know, one sentence each.
    """

    baseline: str
    table: pd.DataFrame
    impacts: Mapping[str, ClassImpact]
    exemplars: Mapping[str, Exemplars]
    chances: Mapping[str, Chance]
    accuracies: pd.DataFrame
    alpha: float
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """One row per variant, the baseline first.

        Columns: `variant` (key), `title`, `family`, `sparsity` (share of zeros), `members`, `bytes` and `gzipped_bytes`
        (of the model file, means over members), `top1`, `top5` (mean accuracies, shares), `top1_change` (share of the
        baseline's, [F] table 3), `significant`, `expected_by_chance` (alpha times the classes tested), `significant_p`
        (of their number, by permutation), `significant_holm`, `significant_bh`, `harmed`, `favoured` (classes), `pies`,
        `pie_share`, `pies_by_chance` and `pies_p` (by permutation). NA where a figure does not exist: tests of the
        baseline or of single members, unknown sizes, no permutations.
        """
        return self.table.copy()

    def summary(self) -> dict[str, Any]:
        """Counts of the study, and every row of the table under its variant's key."""
        rows = self.table.set_index("variant").to_dict("index")
        return {"baseline": self.baseline, "compressed": len(self.exemplars), "variants": rows}

    def chart(self) -> Drawing:
        """[F] table 1: top-1 accuracy of every member."""
        from tfaudit.charts.accuracy import (
            accuracy_chart,
        )  # report depends on audit, never the other way at import

        return accuracy_chart(self.accuracies)


def summary(
    populations: Mapping[str, Predictions],
    descriptions: pd.DataFrame | None = None,
    *,
    baseline: str = "dense",
    alpha: float = 0.05,
    permutations: int = 1000,
    seed: int = 0,
    paired: Collection[str] = (),
) -> Summary:
    """Audits every population against the baseline.

    Args:
        populations: predictions by key of the variant; the baseline among them. Each is asked for once.
        descriptions: facts about the variants, indexed by key, with any of the columns `title`, `family`, `sparsity`,
            `bytes`, `gzipped_bytes`.
        baseline: key of the uncompressed population.
        alpha: level of the tests.
        permutations: how many assignments of members to count at most, for the figures by chance; 0 for none.
        seed: of random assignments.
        paired: keys of the variants whose members are made from the baseline's members of the same names.

    Raises:
        InputError: no such baseline, a population that answers other examples, or an option that is not allowed.

    Example:
        >>> before = Predictions.from_top1([0, 1, 1], [[0, 1, 1], [0, 1, 0]])
        >>> after = Predictions.from_top1([0, 1, 1], [[1, 1, 1], [1, 1, 1]])
        >>> summary({"dense": before, "int8": after}).frame()[["variant", "members", "top1", "pies"]].round(3)
          variant  members   top1  pies
        0   dense        2  0.833  <NA>
        1    int8        2  0.667     2
    """
    if baseline not in populations:
        raise InputError(f"baseline: {baseline!r}, the populations are {', '.join(populations) or 'none'}")
    require(permutations >= 0, "permutations", permutations, "0 or more")
    reference = populations[baseline]
    audits = {
        key: audit_variant(
            reference,
            None if key == baseline else populations[key],
            alpha=alpha,
            permutations=permutations,
            seed=seed,
            paired=key in paired,
        )
        for key in (baseline, *(key for key in populations if key != baseline))
    }
    return summarise(audits, descriptions, alpha=alpha)


def summarise(audits: Mapping[str, VariantAudit], descriptions: pd.DataFrame | None, *, alpha: float) -> Summary:
    """Puts the audits of all variants together.

    Args:
        audits: of `audit_variant` by key of the variant, the baseline's first.
        descriptions: as `summary` takes them.
        alpha: level of the tests.
    """
    facts = _described(list(audits), descriptions)
    titles = {key: str(title) for key, title in facts["title"].items()}
    rows: list[dict[str, Any]] = []
    for key, found in audits.items():
        row = {"variant": key, **facts.loc[key], **found.row()}
        rows.append(row | ({"top1_change": relative_change(rows[0]["top1"], row["top1"])} if rows else {}))
    impacts = {key: found.impact for key, found in audits.items() if found.impact}
    pies = {key: found.exemplars for key, found in audits.items() if found.exemplars}
    chances = {key: found.chance for key, found in audits.items() if found.chance}
    notes = list(dict.fromkeys(note for impact in impacts.values() for note in impact.notes))
    if len(impacts) < len(pies):
        single = listed([row["title"] for row in rows if row["members"] == 1])
        notes.append(
            f"No tests of populations where one has a single member: {single}; `tfaudit.compare` tests single models."
        )
    strangers = [titles[key] for key, found in audits.items() if found.parentless]
    if strangers:
        notes.append(f"No figures by chance where a member's parent is missing: {listed(strangers)}.")
    notes += _chance_notes({titles[key]: found for key, found in chances.items()}, alpha)
    table = pd.DataFrame(rows).reindex(columns=[*_COLUMNS]).astype(_COLUMNS)
    accuracies = pd.concat(
        [found.accuracies().assign(variant=key, title=titles[key]) for key, found in audits.items()], ignore_index=True
    )[["variant", "title", "member", "k", "accuracy"]]
    return Summary(next(iter(audits)), table, impacts, pies, chances, accuracies, alpha, tuple(notes))


def _chance_notes(chances: Mapping[str, Chance], alpha: float) -> list[str]:
    """Which counts of PIEs prove nothing, by title."""
    few = {title: found.pies.smallest_p for title, found in chances.items() if found.pies.smallest_p > alpha}
    usual = [title for title, found in chances.items() if title not in few and found.pies.p > alpha]
    notes = []
    if usual:
        notes.append(f"No more PIEs than chance gives (p > {alpha:g}): {listed(usual)}.")
    if few:
        least = listed([f"{title} ({p:.3g})" for title, p in few.items()])
        notes.append(f"Too few members to tell PIEs from chance; p cannot be below: {least}.")
    return notes


_COLUMNS = {
    "variant": "str",
    "title": "str",
    "family": "str",
    "sparsity": "Float64",
    "members": "int64",
    "bytes": "Float64",
    "gzipped_bytes": "Float64",
    "top1": "float64",
    "top5": "Float64",
    "top1_change": "Float64",
    "significant": "Int64",
    "expected_by_chance": "Float64",
    "significant_p": "Float64",
    "significant_holm": "Int64",
    "significant_bh": "Int64",
    "harmed": "Int64",
    "favoured": "Int64",
    "pies": "Int64",
    "pie_share": "Float64",
    "pies_by_chance": "Float64",
    "pies_p": "Float64",
}


def _described(keys: list[str], descriptions: pd.DataFrame | None) -> pd.DataFrame:
    """The columns that there must be, filled from the descriptions."""
    given = pd.DataFrame(index=keys) if descriptions is None else descriptions
    facts = given.reindex(index=keys, columns=list(_DESCRIPTION)).astype(object)
    facts["title"] = facts["title"].where(facts["title"].notna(), facts.index)
    facts["family"] = facts["family"].where(facts["family"].notna(), "")
    return facts.astype(object).where(facts.notna(), None)
