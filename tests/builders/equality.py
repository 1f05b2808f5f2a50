"""Equality of audit results and of lists of arrays."""

import dataclasses
from collections.abc import Mapping

import numpy as np
import pandas as pd


def require_equal(one, other):
    """All the way down, types included, but that NumPy's numbers come back as Python's."""
    one, other = (each.item() if isinstance(each, np.generic) else each for each in (one, other))
    assert type(one) is type(other)
    if dataclasses.is_dataclass(one) or isinstance(one, Mapping | tuple):
        one, other = map(_parts, (one, other))
        assert list(one) == list(other)
        for name in one:
            require_equal(one[name], other[name])
    elif isinstance(one, pd.DataFrame):
        # Before pandas 3 an index of text that is empty does not know that it is text.
        pd.testing.assert_frame_equal(one, other, check_exact=True, check_index_type=len(one) > 0)
        assert one.attrs == other.attrs
    elif isinstance(one, pd.Series):
        pd.testing.assert_series_equal(one, other, check_exact=True)
    elif isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other, strict=True)
    else:
        assert one == other or (one != one and other != other)


def _parts(whole):
    """The parts of a mapping, a tuple or a dataclass by their names or positions, in order."""
    if isinstance(whole, tuple):
        return dict(enumerate(whole))
    if isinstance(whole, Mapping):
        return whole
    return {field.name: getattr(whole, field.name) for field in dataclasses.fields(whole)}


def assert_all_close(found, wanted, *, rtol=0.0, atol=0.0):
    """As `np.testing.assert_allclose` for every pair of arrays; by default they are equal."""
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)
