"""Attributes and categories that human raters give to images: [F] 3.2, the galleries of [A]."""

import pandas as pd

from tfaudit.audits.survey.questions import QUESTIONS


def image_labels(answers: pd.DataFrame, categories: pd.DataFrame) -> pd.DataFrame:
    """Return the attributes and categories of each image.

    An image has an attribute if most of its raters say so, as in `survey`; if a rater has answered a question in two
    studies, the later answer counts. An image has every category that any rater gives it.

    `answers` has the columns `rater`, `example`, `question` (its key) and `value` (0, 1 or missing), the latest last;
    `categories` has `rater`, `example` and `category`. The result has one row per image and label: `example`, `kind`
    ("attribute" or "category"), `label`, the number of `raters` who give it and of those who have `judged` the image.

    Example:
        >>> answers = pd.DataFrame({"rater": ["ann", "bob"], "example": "x", "question": "corrupted", "value": 1})
        >>> image_labels(answers, pd.DataFrame({"rater": ["bob"], "example": ["x"], "category": ["atypical"]}))
          example       kind            label  raters  judged
        0       x  attribute  corrupted image       2       2
        1       x   category         atypical       1       2
    """
    answers = answers.drop_duplicates(["rater", "example", "question"], keep="last")
    judged = answers.groupby("example")["rater"].nunique()
    chosen = categories.drop_duplicates().rename(columns={"category": "label"})
    chosen = chosen.groupby(["example", "label"]).size().rename("raters").reset_index()
    judged_by = chosen["example"].map(judged).fillna(chosen["raters"]).astype(int)
    parts = [chosen.assign(kind="category", judged=judged_by)]
    decided = answers.dropna(subset=["value"])
    for question in QUESTIONS:
        votes = decided[decided["question"] == question.key]
        holds = votes["value"] == question.holds
        counts = holds.groupby(votes["example"]).agg(raters="sum", judged="size")
        most = counts[2 * counts["raters"] > counts["judged"]].reset_index()
        parts.append(most.assign(kind="attribute", label=question.attribute))
    labels = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    labels = labels.sort_values(["example", "kind", "label"], ignore_index=True)
    return labels[["example", "kind", "label", "raters", "judged"]]
