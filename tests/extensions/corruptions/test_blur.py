import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tfaudit.datasets.corruptions.corrupt import corrupt
from tfaudit.extensions.corruptions.blur import chained_sources


def copied_one_by_one(size, places, sources):
    held = np.arange(size)
    for place, source in zip(places[::-1], sources[::-1], strict=True):
        held[place] = held[source]
    return held


@given(st.integers(1, 60), st.data())
def test_chains_are_followed_as_one_copy_after_the_other_would(size, data):
    places = np.array(sorted(data.draw(st.sets(st.integers(0, size - 1)))), int)
    sources = np.array([data.draw(st.integers(0, size - 1)) for _ in places], int)
    assert_array_equal(
        chained_sources(size, places, sources), copied_one_by_one(size, places, sources)
    )


@pytest.mark.parametrize("severity", [1, 5])
def test_a_constant_image_stays(severity):
    images = np.full((1, 40, 40, 3), 137, np.uint8)
    assert (corrupt(images, "glass_blur", severity, scale="imagenet") == 137).all()
