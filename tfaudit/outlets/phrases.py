"""Sentences that stand in several outlets."""

from collections.abc import Collection

from tfaudit.audits.ties import count_text


def retraining(changed: Collection[float], examples: int) -> str:
    """Return how many predictions change when the baseline is trained again.

    Args:
        changed: number of changed predictions for each pair of baseline models; empty if that is unknown.
        examples: number of examples.

    Example:
        >>> retraining([4.0, 6.0], 100)
        'Training the baseline again changes 5 of 100 predictions (4 to 6).'
    """
    if not len(changed):
        return "How many predictions training again changes is unknown: the baseline is a single model."
    ends = (
        f" ({count_text(min(changed))} to {count_text(max(changed))})" if len(changed) > 1 else ""
    )
    mean = sum(changed) / len(changed)
    return f"Training the baseline again changes {mean:,.0f} of {examples:,} predictions{ends}."


def none_lost(classes: int) -> str:
    """Return that no class is claimed to lose, as a sentence without its full stop."""
    return f"None of {classes:,} classes is shown to lose recall"
