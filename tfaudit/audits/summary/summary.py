"""The table of a study: the audit of every variant against the dense baseline, [F] table 2."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.chance.chance import CANNOT_TELL, CONSISTENT, Chance, chance, count_verdict
from tfaudit.audits.classes.classes import ClassImpact, class_impact
from tfaudit.audits.exemplars.exemplars import Exemplars, exemplars
from tfaudit.audits.flips.changed_predictions import changed_predictions
from tfaudit.audits.result import Drawing, Result, described
from tfaudit.audits.ties import joined_notes
from tfaudit.errors import listed, require, require_least
from tfaudit.predictions import Predictions
from tfaudit.stats.ratios import member_mean, relative_change

_DESCRIPTION = ["title", "family", "sparsity", "bytes", "gzipped_bytes"]
_TESTED = ("significant_holm", "significant_bh", "harmed", "favoured")
_COLUMNS = {
    **dict.fromkeys(("variant", "title", "family"), "str"),
    **{"sparsity": "Float64", "members": "int64"},
    **dict.fromkeys(("bytes", "gzipped_bytes"), "Float64"),
    "top1": "float64",
    **dict.fromkeys(("top5", "top1_change", "argmax_top1", "tied"), "Float64"),
    "significant": "Int64",
    **dict.fromkeys(("expected_by_chance", "significant_p"), "Float64"),
    **dict.fromkeys(_TESTED, "Int64"),
    "changed_predictions": "Float64",
    "pies": "Int64",
    "pie_share": "Float64",
    **dict.fromkeys(("pies_undecided", "published_pies"), "Int64"),
    **dict.fromkeys(("pies_by_chance", "pies_p"), "Float64"),
}
"""Types of the columns, in order."""


@dataclasses.dataclass(frozen=True)
class VariantAudit:
    """The audit of one population of K members: everything that the table needs from its predictions.

    Attributes:
        members: names of the members.
        top1, top5: `(K,)` accuracies, shares; `top5` is None if fewer ranks are stored.
        argmax_top1, tied: `(K,)` accuracies of the deployed `argmax`, and numbers of predictions in which classes tie.
        changed: `(P,)` numbers of predictions that differ between two models, over P pairs: each member with the one
            that it is made from, or without pairs all with all. For the baseline, pairs of its own members give the
            noise floor.
        impact: effect on the classes; None for the baseline, or if either side has a single member.
        exemplars: PIEs; None for the baseline.
        chance: permutation tests; None if they are impossible or not requested.
        parentless: whether members are made from the baseline's members but have other names, so that there is no
            `chance`.
    """

    members: tuple[object, ...]
    top1: np.ndarray
    top5: np.ndarray | None
    argmax_top1: np.ndarray
    tied: np.ndarray
    changed: np.ndarray
    impact: ClassImpact | None
    exemplars: Exemplars | None
    chance: Chance | None
    parentless: bool

    def accuracies(self) -> pd.DataFrame:
        """Return one row per `member` and `k`: the member's top-k `accuracy`, a share."""
        return pd.concat(
            pd.DataFrame({"member": self.members, "k": k, "accuracy": values})
            for k, values in ((1, self.top1), (5, self.top5))
            if values is not None
        )

    def row(self) -> dict[str, Any]:
        """Return the row of the study's table: the columns of `Summary.frame` that predictions give."""
        row: dict[str, Any] = {
            "members": len(self.members),
            "top1": member_mean(self.top1),
            "top5": np.nan if self.top5 is None else member_mean(self.top5),
            "changed_predictions": self.changed.mean() if len(self.changed) else np.nan,
        }
        if self.tied.any():
            row |= {"argmax_top1": member_mean(self.argmax_top1), "tied": self.tied.mean()}
        if self.exemplars:
            counts = self.exemplars.summary()
            row |= {
                "pies": counts["pies"],
                "pie_share": counts["share"],
                "pies_undecided": counts["undecided"],
                "published_pies": counts["published"],
            }
        if self.impact:
            published = self.impact.published_counts()
            tested = ("significant", "expected_by_chance", *_TESTED)
            row |= {name: published[f"published_{name}"] for name in tested}
        if self.chance:
            if not self.chance.paired:
                row |= {"pies_by_chance": self.chance.pies.mean, "pies_p": self.chance.pies.p}
            if classes := self.chance.classes:
                # The null is exact for coarse recalls and pairs; alpha times the classes is only a bound.
                row |= {"expected_by_chance": classes.mean, "significant_p": classes.p}
        return row


@dataclasses.dataclass(frozen=True)
class Summary(Result):
    """All audits of a study.

    Attributes:
        baseline: key of the uncompressed population.
        table: one row per variant; see `frame`.
        impacts: class impact per compressed variant, if both populations have two members or more.
        exemplars: PIEs per compressed variant.
        chances: permutation tests per independently trained variant, if they are possible. Reassigning members within
            pairs asks nothing of the number of PIEs: every pair is a model and its own compression.
        accuracies: one row per `variant`, `title`, `member` and `k`: the member's top-k `accuracy`, a share.
        alpha: level of the tests.
        notes: caveats for the reader, one sentence each.
    """

    baseline: str
    table: pd.DataFrame
    impacts: Mapping[str, ClassImpact]
    exemplars: Mapping[str, Exemplars]
    chances: Mapping[str, Chance]
    accuracies: pd.DataFrame
    alpha: float
    notes: tuple[str, ...]

    @property
    def has_populations(self) -> bool:
        """Whether a variant has several members."""
        return bool(self.table["members"].max() > 1)

    def frame(self) -> pd.DataFrame:
        """Return one row per variant, the baseline first.

        Columns: `variant` (key), `title`, `family`, `sparsity` (share of zeros), `members`, `bytes` and `gzipped_bytes`
        (of the model file, means over members), `top1`, `top5` (mean accuracies, shares), `top1_change` (share of the
        baseline's accuracy, [F] table 3), `argmax_top1` (by the deployed `argmax`, which gives ties to the class with
        the lowest number), `tied` (predictions in which classes tie, mean over members), `significant`,
        `expected_by_chance` (by permutation, otherwise alpha times the number of classes tested), `significant_p` (of
        their number, by permutation), `significant_holm`, `significant_bh`, `harmed`, `favoured` (classes, by the
        published test and `argmax`), `changed_predictions` (between two models, mean over pairs of members; the
        baseline's is what retraining changes), `pies`, `pie_share`, `pies_undecided` (examples that ties between
        classes leave undecided), `published_pies` (by [F]'s rule for ties), `pies_by_chance` and `pies_p` (by
        permutation, unless the variant is paired). A figure that does not exist is NA: tests of the baseline or of
        single members, unknown sizes, no permutations, no ties.
        """
        return self.table.copy()

    def summary(self) -> dict[str, Any]:
        """Return counts, and every row of the table by its variant's key."""
        rows = self.table.set_index("variant").to_dict("index")
        return {"baseline": self.baseline, "compressed": len(self.exemplars), "variants": rows}

    def chart(self) -> Drawing:
        """Draw [F] table 1: top-1 accuracy of every member."""
        from tfaudit.audits.summary.chart import accuracy_chart

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
    """Audit every population against the baseline.

    Args:
        populations: predictions by key of the variant, including the baseline. Each is looked up once.
        descriptions: any of `title`, `family`, `sparsity`, `bytes`, `gzipped_bytes` of the variants, indexed by key.
        baseline: key of the uncompressed population.
        alpha: level of the tests.
        permutations: maximum number of assignments of members to count for figures expected by chance, 1000 by default;
            0 for none.
        seed: seed of the random assignments.
        paired: keys of the variants whose members are made from the baseline's members of the same names.

    Raises:
        InputError: an unknown baseline, a population on different examples, or an invalid option.

    Example:
        >>> before = Predictions.from_top1([0, 1, 1], [[0, 1, 1], [0, 1, 0]])
        >>> after = Predictions.from_top1([0, 1, 1], [[1, 1, 1], [1, 1, 1]])
        >>> summary({"dense": before, "int8": after}).frame()[["variant", "members", "top1", "pies"]].round(3)
          variant  members   top1  pies
        0   dense        2  0.833  <NA>
        1    int8        2  0.667     1
    """
    known = ", ".join(populations) or "no populations"
    require(baseline in populations, "baseline", baseline, f"one of {known}")
    require_least(0, permutations=permutations)
    audit = functools.partial(
        audit_variant, populations[baseline], alpha=alpha, permutations=permutations, seed=seed
    )
    audits = {baseline: audit(None)}
    audits |= {
        key: audit(populations[key], paired=key in paired) for key in populations if key != baseline
    }
    return summarise(audits, descriptions, alpha=alpha)


def audit_variant(
    baseline: Predictions,
    compressed: Predictions | None,
    *,
    alpha: float = 0.05,
    permutations: int = 1000,
    seed: int = 0,
    paired: bool = False,
) -> VariantAudit:
    """Audit one population against the baseline, or the baseline itself if `compressed` is None.

    `paired` says whether members are made from the baseline's members of the same names. The other options are those of
    `summary`.

    Example:
        >>> before, after = (Predictions.from_top1([0, 1], [[x, 1], [x, 1]]) for x in (0, 1))
        >>> audit_variant(before, after).row()["pies"]
        1
    """
    population = baseline if compressed is None else compressed
    parentless = paired and permutations > 0 and set(population.members) != set(baseline.members)
    several = min(population.num_members, baseline.num_members) > 1
    countable = (
        permutations and not parentless and population.num_members + baseline.num_members > 2
    )
    return VariantAudit(
        members=population.members,
        top1=population.accuracy(),
        top5=population.accuracy(5) if population.ranked.shape[2] >= 5 else None,
        argmax_top1=population.by_argmax().accuracy(),
        tied=population.tied(),
        changed=changed_predictions(baseline, compressed, None if parentless else paired or None),
        impact=class_impact(baseline, compressed, paired or None, alpha=alpha)
        if compressed and several
        else None,
        exemplars=exemplars(baseline, compressed) if compressed else None,
        chance=chance(
            baseline, compressed, permutations=permutations, seed=seed, alpha=alpha, paired=paired
        )
        if compressed and countable
        else None,
        parentless=parentless,
    )


def _notes_on_chance(chances: Mapping[str, Chance], alpha: float) -> list[str]:
    """Return notes on variants, by title, whose number of PIEs may be chance or that have too few members to tell."""
    few = {title: null for title, null in chances.items() if null.pies.smallest_p > alpha}
    verdicts: dict[str, list[str]] = {}
    for title, null in chances.items():
        if title not in few:
            verdicts.setdefault(count_verdict(null.pies, alpha), []).append(title)
    notes = []
    if unclear := verdicts.get(CANNOT_TELL):
        notes.append(
            f"Cannot tell whether more examples change (PIEs) than by chance (p > {alpha:g}): {listed(unclear)}."
        )
    if usual := verdicts.get(CONSISTENT):
        notes.append(f"No more examples change (PIEs) than by chance: {listed(usual)}.")
    if few:
        least = listed(
            [
                f"{title} (p at least {null.pies.smallest_p:.3g}; {null.models_needed} models would do)"
                for title, null in few.items()
            ]
        )
        notes.append(f"Too few models to test how many examples change (PIEs): {least}.")
    return notes


def summarise(
    audits: Mapping[str, VariantAudit], descriptions: pd.DataFrame | None, *, alpha: float
) -> Summary:
    """Join the results of `audit_variant`, by key of the variant, the baseline's first; options as in `summary`."""
    facts = described(list(audits), _DESCRIPTION, descriptions)
    facts["family"] = facts["family"].fillna("")
    titles = {key: str(title) for key, title in facts["title"].items()}
    rows = [{"variant": key, **facts.loc[key], **audit.row()} for key, audit in audits.items()]
    for row in rows[1:]:
        row["top1_change"] = relative_change(rows[0]["top1"], row["top1"])
    impacts = {key: audit.impact for key, audit in audits.items() if audit.impact}
    pies = {key: audit.exemplars for key, audit in audits.items() if audit.exemplars}
    chances = {
        key: audit.chance
        for key, audit in audits.items()
        if audit.chance and not audit.chance.paired
    }
    notes = joined_notes({titles[key]: impact for key, impact in impacts.items()})
    if len(impacts) < len(pies):
        single = listed([row["title"] for row in rows if row["members"] == 1])
        untested = f"No tests of populations where one has a single member: {single}"
        notes.append(f"{untested}; `tfaudit.compare` tests single models.")
    if parentless := [titles[key] for key, audit in audits.items() if audit.parentless]:
        missing = f"where a member's parent is missing: {listed(parentless)}"
        notes.append(f"No counts expected by chance {missing}.")
    notes += _notes_on_chance({titles[key]: null for key, null in chances.items()}, alpha)
    table = pd.DataFrame(rows).reindex(columns=[*_COLUMNS]).astype(_COLUMNS)
    accuracies = [
        audit.accuracies().assign(variant=key, title=titles[key]) for key, audit in audits.items()
    ]
    return Summary(
        baseline=next(iter(audits)),
        table=table,
        impacts=impacts,
        exemplars=pies,
        chances=chances,
        accuracies=pd.concat(accuracies, ignore_index=True)[
            ["variant", "title", "member", "k", "accuracy"]
        ],
        alpha=alpha,
        notes=tuple(notes),
    )
