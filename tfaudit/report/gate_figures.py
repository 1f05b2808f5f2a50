"""How the figures of a gate are named and written, in a table as in a chart."""

from __future__ import annotations

import math

__all__ = ["figure", "title"]

_FORMS = {
    "overall_drop_pp": ("drop of accuracy", 1, "{:.2f} pp"),
    "worst_class_drop_pp": ("drop of worst class", 1, "{:.2f} pp"),
    "harmed_share": ("harmed classes", 100, "{:.1f} %"),
    "flips": ("flips", 100, "{:.2f} %"),
    "negative_flips": ("right to wrong", 100, "{:.2f} %"),
    "intensification": ("intensification", 1, "{:.3f}"),
    "size_bytes": ("size", 1e-6, "{:.3g} MB"),
    "size_ratio": ("size against baseline", 100, "{:.1f} %"),
}


def title(check: str) -> str:
    """Name of a check for people.

    Example:
        >>> title("negative_flips")
        'right to wrong'
    """
    return _FORMS[check][0]


def figure(check: str, value: float) -> str:
    """A value of a check with its unit.

    Example:
        >>> figure("flips", 0.0123), figure("size_bytes", 1_250_000), figure("intensification", float("nan"))
        ('1.23 %', '1.25 MB', 'unknown')
    """
    _, factor, form = _FORMS[check]
    return "unknown" if math.isnan(value) else form.format(factor * value)
