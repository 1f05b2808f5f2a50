"""A comparison of two models in sentences: changes of accuracy, predictions and classes."""

from typing import Any

import pandas as pd

from tfaudit.audits.classes.classes import GAINED, LOST
from tfaudit.audits.model_pair.model_pair import PairComparison
from tfaudit.audits.ties import count_text
from tfaudit.outlets.columns import p_text, signed
from tfaudit.outlets.phrases import none_lost

NAMED = 5  # classes named in a sentence


def accuracy_sentence(pair: PairComparison) -> str:
    """Return the change of top-1 accuracy, with its interval and McNemar's exact test."""
    summary = pair.summary()
    before = 100 * summary["accuracy_before"]
    after = 100 * summary["accuracy_after"]
    change = f"{points(summary['change_pp'])} points ({interval(summary)}; p\u00a0{p_text(summary['change_p'])})"
    return f"Top-1 accuracy {before:.2f}\u00a0% → {after:.2f}\u00a0%: {change}."


def predictions_sentence(pair: PairComparison) -> str:
    """Return how many predictions change, and how."""
    summary = pair.summary()
    if not summary["flips"]:
        return "No prediction changes."
    several = f"{count_text(summary['flips'])} predictions change"
    subject = "1 prediction changes" if summary["flips"] == 1 else several
    lost, won, other = (
        count_text(summary[name])
        for name in ("negative_flips", "positive_flips", "wrong_to_other_wrong")
    )
    kinds = f"{lost} from right to wrong, {won} from wrong to right, {other} from wrong to another wrong"
    return f"{subject} ({100 * (1 - summary['agreement']):.1f}\u00a0%): {kinds}."


def classes_sentence(pair: PairComparison) -> str:
    """Return the classes that demonstrably lose or gain recall, or else the worst class and how much it may lose."""
    frame = pair.frame()
    tested = pair.summary()["tested"]
    collapsed = frame[frame["collapsed"]]
    sentences = []
    if len(collapsed):
        recalls = [
            f"{row['class']} ({100 * row['recall_before']:.1f}\u00a0% → {100 * row['recall_after']:.1f}\u00a0%)"
            for row in collapsed.to_dict("records")
        ]
        sentences.append(f"Collapsed: {_noun(recalls)} {_listed(recalls)}.")
    tests = (
        f"{tested:,} classes" if pair.tests == tested else f"{pair.tests:,} classes of all models"
    )
    correction = f"McNemar's test, Holm's correction for {tests}"
    for verdict, verb in ((LOST, "lose"), (GAINED, "gain")):
        claimed = frame[frame["verdict"] == verdict].sort_values(
            "change_pp", key=lambda change: -change.abs(), kind="stable"
        )
        names = [
            f"{row['class']} ({points(row['change_pp'])} points)"
            for row in claimed.to_dict("records")
        ]
        if names:
            subject = f"{_noun(names).capitalize()} {_listed(names)} {verb}"
            one = "s" if len(names) == 1 else ""
            sentences.append(f"{subject}{one} recall ({correction}).")
    if not (frame["verdict"] == LOST).any():
        sentences.append(_largest_loss(frame, tested))
    return " ".join(sentences)


def _largest_loss(frame: pd.DataFrame, tested: int) -> str:
    losing = frame[frame["change_pp"] < 0].sort_values(["change_pp", "change_p"], kind="stable")
    none = none_lost(tested)
    if losing.empty:
        return f"{none}."
    worst = losing.iloc[0]
    loss = f"{points(worst['change_pp'])} ({interval(worst)})"
    if worst["change_high_pp"] < 0:  # the claim is about all classes, the interval about one
        loss += f", judged alone; among {tested:,} classes this may be chance"
    return f"{none}; the largest loss is that of class {worst['class']}: {loss}."


def _noun(names: list[str]) -> str:
    return "class" if len(names) == 1 else "classes"


def _listed(names: list[str]) -> str:
    if len(names) > NAMED:
        return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def points(value: float) -> str:
    """Return a change in percentage points with its sign."""
    return signed(value)


def interval(row: Any) -> str:
    """Return the interval of the change of a row or summary, `change_low_pp` to `change_high_pp`."""
    return f"{points(row['change_low_pp'])} to {points(row['change_high_pp'])}"
