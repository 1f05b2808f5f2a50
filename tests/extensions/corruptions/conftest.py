"""Photographs to corrupt."""

from collections.abc import Callable

import cv2
import numpy as np
import pytest
from skimage import data


@pytest.fixture(scope="session")
def photographs_at() -> Callable[[int], np.ndarray]:
    """Four real photographs, uint8 (4, edge, edge, 3), by edge."""

    def resized(edge: int) -> np.ndarray:
        sources = (data.astronaut(), data.coffee(), data.chelsea(), data.rocket())
        return np.stack(
            [cv2.resize(image, (edge, edge), interpolation=cv2.INTER_AREA) for image in sources]
        )

    return resized


@pytest.fixture(scope="session")
def photographs(photographs_at):
    return photographs_at(224)


@pytest.fixture(scope="session")
def small_photographs(photographs_at):
    return photographs_at(96)
