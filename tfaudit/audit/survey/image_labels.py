"""What the raters of human studies have seen in an image: [F] 3.2, the galleries of [A]."""

from __future__ import annotations

import pandas as pd

from tfaudit.audit.survey.questions import QUESTIONS

__all__ = ["image_labels"]


def image_labels(answers: pd.DataFrame, categories: pd.DataFrame) -> pd.DataFrame:
    """Attributes and categories of each image.

    An image has an attribute where most of its raters say so, as `survey` counts; of two answers of one rater to one
    question, given in two studies, the later counts. It has every category that any rater gives it.

    Args:
        answers: `rater`, `example`, `question` (its key), `value` (0, 1 or nothing), the latest last.
        categories: `rater`, `example`, `category`.

    Returns:
        A row per image and label: `example`, `kind` ("attribute" or "category"), `label`, how many `raters` say so and
        how many have `judged`.

    Example:
        >>> answers = pd.DataFrame({"rater": ["ann", "bob"], "example": "x", "question": "corrupted", "value": 1})
        >>> image_labels(answers, pd.DataFrame({"rater": ["bob"], "example": ["x"], "category": ["atypical"]}))
          example       kind            label  raters  judged
        0       x  attribute  corrupted image       2       2
        1       x   category         atypical       1       2
    """
    answers = answers.drop_duplicates(["rater", "example", "question"], keep="last")
    judged = answers.groupby("example")["rater"].nunique()
    given = categories.drop_duplicates().groupby(["example", "category"]).size().rename("raters").reset_index()
    given = given.rename(columns={"category": "label"})
    parts = [given.assign(kind="category", judged=given["example"].map(judged).fillna(given["raters"]).astype(int))]
    sure = answers.dropna(subset=["value"])
    for question in QUESTIONS:
        votes = sure[sure["question"] == question.key]
        counts = (votes["value"] == question.holds).groupby(votes["example"]).agg(raters="sum", judged="size")
        most = counts[2 * counts["raters"] > counts["judged"]].reset_index()
        parts.append(most.assign(kind="attribute", label=question.attribute))
    found = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    found = found.sort_values(["example", "kind", "label"], ignore_index=True)
    return found[["example", "kind", "label", "raters", "judged"]]
