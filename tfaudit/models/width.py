"""Scaling of the width of an architecture."""

from tfaudit.errors import require

__all__ = ["scaled_width"]


def scaled_width(units: int, width: float) -> int:
    """Return the filters or units of a layer at a multiple of the published width; at least 1.

    Args:
        units: published number of filters or units.
        width: multiple; 1.0 as published, less for trials.

    Raises:
        InputError: `width` is not positive.

    Example:
        >>> scaled_width(64, 0.125), scaled_width(6, 0.01)
        (8, 1)
    """
    require(0 < width < float("inf"), "width", width, "a positive number, 1.0 as published")
    return max(round(units * width), 1)
