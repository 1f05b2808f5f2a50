"""One way to narrow every architecture."""

from tfaudit.errors import InputError

__all__ = ["narrowed"]


def narrowed(units: int, width: float) -> int:
    """Filters or units of a layer at a multiple of the published width; at least 1.

    Args:
        units: As published.
        width: 1.0 leaves it; trials take less.

    Raises:
        InputError: `width` is not positive.

    Example:
        >>> narrowed(64, 0.125), narrowed(6, 0.01)
        (8, 1)
    """
    if not 0 < width < float("inf"):
        raise InputError(f"width is {width}; it must be a positive number, 1.0 as published")
    return max(round(units * width), 1)
