import numpy as np
import pytest
from skimage import data


@pytest.fixture(scope="session")
def photographs():
    """Four real photographs, uint8 (4, 224, 224, 3)."""
    return resized(224)


def resized(edge):
    import cv2

    sources = (data.astronaut(), data.coffee(), data.chelsea(), data.rocket())
    return np.stack([cv2.resize(each, (edge, edge), interpolation=cv2.INTER_AREA) for each in sources])


@pytest.fixture(scope="session")
def small_photographs():
    """The same, uint8 (4, 96, 96, 3)."""
    return resized(96)
