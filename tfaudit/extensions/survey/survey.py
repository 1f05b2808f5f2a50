"""Results of the human study: attributes of exemplars and of other images, [F] 3.2 and appendix C."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.attributes.attributes import share_columns
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import InputError, require_level, require_type
from tfaudit.extensions.survey.questions import CO_OCCURRING, QUESTIONS, Question
from tfaudit.stats.proportions import compare_proportions


@dataclasses.dataclass(frozen=True)
class Survey(Result):
    """Shares of exemplars and of other images with each attribute, and the agreement of the raters.

    `frame` describes the `table`; `examples` counts the images with an answer; `alpha` is the level of the tests, and
    intervals are at 1 - alpha; `notes` are remarks for the reader, one sentence each.
    """

    table: pd.DataFrame
    raters: int
    examples: int
    alpha: float
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return one row per question.

        Columns: `attribute`; `question` (its key); `answers` and `raters`, their numbers; `pies` and `non_pies`, images
        with the attribute, of `pies_judged` and `non_pies_judged`; `undecided`, images whose raters are divided evenly;
        `share_pie` and `share_non_pie` of the judged images; `ratio`, NaN if no other image has the attribute;
        `difference_pp` with `low_pp` and `high_pp`, Newcombe's interval; `test`, `p` and `p_holm`; `kappa`, Fleiss'
        agreement between raters, from `kappa_examples` images with `kappa_raters` raters each, NaN if no image has two
        raters or all answers are the same.
        """
        return self.table.copy()

    def summary(self) -> dict[str, Any]:
        """Return counts, and the attributes on which exemplars over-index (Holm-corrected), highest ratio first."""
        over = self.table[(self.table["p_holm"] <= self.alpha) & (self.table["difference_pp"] > 0)]
        return {
            "raters": self.raters,
            "examples": self.examples,
            "answers": int(self.table["answers"].sum()),
            "over": over.sort_values("ratio", ascending=False, kind="stable")["attribute"].tolist(),
        }

    def chart(self) -> Drawing:
        """Draw the shares of PIEs and of other images with each attribute, [F] figure 5."""
        from tfaudit.audits.attributes.chart import over_indexing_chart

        return over_indexing_chart(self.table, self.alpha)


def survey(answers: pd.DataFrame, *, alpha: float = 0.05) -> Survey:
    """Analyse the answers of a human study.

    An image has an attribute if most of its raters say so; if they are divided evenly, it is left out of that question
    and counts as undecided. Shares are compared by Fisher's exact test. `survey_sample` draws the images.

    Args:
        answers: one row per rater and image: `rater`, `example`, `is_pie` (boolean or 0/1) and one column per question
            of [F] with 0, 1 or missing, perhaps `co_occurring` [A], whether the labels frequently co-occur; other
            columns are ignored.
        alpha: level of the tests, in (0, 1).

    Raises:
        InputError: missing columns, answers other than 0 and 1, a rater who judges an image twice, an image that is
            both PIE and non-PIE, no rows, or a level outside (0, 1).

    Example:
        >>> answers = pd.DataFrame({"rater": ["ann", "bob"] * 3, "example": [0, 0, 1, 1, 2, 2]})
        >>> answers["is_pie"] = answers["example"] < 2
        >>> for question in QUESTIONS:
        ...     answers[question.key] = [1, 1, 0, 1, 0, 0]
        >>> frame = survey(answers).frame()
        >>> frame.loc[2:2, ["attribute", "share_pie", "share_non_pie", "undecided", "kappa"]].round(3)
                 attribute  share_pie  share_non_pie  undecided  kappa
        2  corrupted image        1.0            0.0          1  0.333
    """
    require_level("alpha", alpha)
    require_type("a pandas.DataFrame", pd.DataFrame, answers=answers)
    questions = [*QUESTIONS, CO_OCCURRING] if CO_OCCURRING.key in answers else [*QUESTIONS]
    is_pie = _is_pie(answers, questions)
    rows = []
    notes = []
    for question in questions:
        row, note = _row(answers, question, is_pie)
        rows.append(row)
        notes += note
    table = pd.DataFrame(rows)
    counts = [
        table[name].to_numpy() for name in ("pies", "pies_judged", "non_pies", "non_pies_judged")
    ]
    proportions = compare_proportions(*counts, always_exact=True, confidence=1 - alpha)
    counted = table.iloc[:, :-3]
    agreement = table.iloc[:, -3:]
    table = pd.concat([counted, pd.DataFrame(share_columns(proportions)), agreement], axis=1)
    for kind, count in (("PIEs", is_pie.sum()), ("non-PIEs", (~is_pie).sum())):
        if not count:
            notes.append(f"No {kind} among the images: nothing to compare.")
    return Survey(table, int(answers["rater"].nunique()), len(is_pie), alpha, tuple(notes))


def _row(
    answers: pd.DataFrame, question: Question, is_pie: pd.Series
) -> tuple[dict[str, Any], list[str]]:
    """Return counts and agreement of one question, and notes about them."""
    decided_answers = answers.dropna(subset=[question.key])
    holds = decided_answers[question.key].astype(int) == question.holds
    by_example = holds.groupby(decided_answers["example"])
    votes = pd.DataFrame({"yes": by_example.sum(), "raters": by_example.size()})
    margin = 2 * votes["yes"] - votes["raters"]
    decided = margin[margin != 0]
    pie = is_pie[decided.index]
    kappa, judged, raters = _agreement(votes)
    row = {
        "attribute": question.attribute,
        "question": question.key,
        "answers": len(decided_answers),
        "raters": int(decided_answers["rater"].nunique()),
        "pies": int((decided[pie] > 0).sum()),
        "pies_judged": int(pie.sum()),
        "non_pies": int((decided[~pie] > 0).sum()),
        "non_pies_judged": int((~pie).sum()),
        "undecided": len(margin) - len(decided),
        "kappa": kappa,
        "kappa_examples": judged,
        "kappa_raters": raters,
    }
    some = f"{judged} of {len(votes)} images that have {raters} raters"
    if judged == 0:
        return row, [f"{question.key}: no agreement, because no image has two raters."]
    return row, [f"{question.key}: kappa rests on the {some}."] if judged < len(votes) else []


def _agreement(votes: pd.DataFrame) -> tuple[float, int, int]:
    """Return Fleiss' kappa, and how many images and raters it rests on.

    Kappa is defined for a fixed number of raters: the most common one is used, the larger of two equally common ones.
    """
    sizes = votes.loc[votes["raters"] > 1, "raters"].value_counts()
    if sizes.empty:
        return float("nan"), 0, 0
    raters = int(sizes.index[sizes == sizes.max()].max())
    yes = votes.loc[votes["raters"] == raters, "yes"].to_numpy()
    # All answers are the same: chance alone explains that agreement.
    if yes.mean() in (0, raters):
        return float("nan"), len(yes), raters
    no = raters - yes
    agreement = np.mean(yes * (yes - 1) + no * (no - 1)) / (raters * (raters - 1))
    by_chance = (yes.mean() ** 2 + no.mean() ** 2) / raters**2
    return float((agreement - by_chance) / (1 - by_chance)), len(yes), raters


def _is_pie(answers: pd.DataFrame, questions: Sequence[Question]) -> pd.Series:
    """Check the answers as `survey` promises; return whether each image is a PIE, by example."""
    needed = ["rater", "example", "is_pie", *(question.key for question in questions)]
    if missing := [name for name in needed if name not in answers.columns]:
        raise InputError(
            "answers", f"no column {', '.join(missing)}", f"the columns {', '.join(needed)}"
        )
    if not len(answers):
        raise InputError("answers", "no rows", "one per rater and image")
    for name in ("rater", "example", "is_pie"):
        if empty := int(answers[name].isna().sum()):
            got = f"column {name} without a value in {empty} of {len(answers)} rows"
            raise InputError("answers", got, "values")
    for name in needed[2:]:
        odd = answers.loc[~answers[name].isin([0, 1]) & answers[name].notna(), name]
        if len(odd):
            raise InputError("answers", f"{odd.tolist()[0]!r} in column {name}", "0 and 1")
    twice = answers[answers.duplicated(["rater", "example"])]
    if len(twice):
        rater, example = twice[["rater", "example"]].iloc[0]
        raise InputError("answers", f"two rows of rater {rater} about example {example}", "one")
    kinds = answers["is_pie"].astype(bool).groupby(answers["example"])
    if (divided := kinds.nunique() > 1).any():
        raise InputError(
            "answers", f"example {divided.idxmax()} both as PIE and non-PIE", "one value of is_pie"
        )
    return kinds.first()
