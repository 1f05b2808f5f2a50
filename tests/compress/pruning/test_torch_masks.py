"""All seven methods of [P] against the masks that `torch.nn.utils.prune` made of the same weights and draws.

PyTorch ran once: torch_masks.py says how and writes the file that is read here.
"""

import keras
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.builders.pruning_reference import highest
from tests.compress.pruning.torch_masks import AMOUNTS, PLACE, SHAPES, STRUCTURED
from tfaudit.compress.pruning.channels import expand_channel_mask
from tfaudit.compress.pruning.one_shot import prune

RECORDED = dict(np.load(PLACE))


def model():
    """A layer for each recorded kernel, of its shape; the tower has no other sense."""
    inputs = {
        "conv": (keras.Input((8, 8, 6)), keras.layers.Conv2D(10, 3, name="conv")),
        "conv1d": (keras.Input((8, 4)), keras.layers.Conv1D(7, 5, name="conv1d")),
        "conv3d": (keras.Input((8, 8, 8, 5)), keras.layers.Conv3D(6, (2, 3, 2), name="conv3d")),
        "dense": (keras.Input((30,)), keras.layers.Dense(12, name="dense")),
    }
    made = keras.Model(
        [each for each, _ in inputs.values()], [layer(each) for each, layer in inputs.values()]
    )
    for name in SHAPES:
        made.get_layer(name).kernel.assign(RECORDED[f"kernel/{name}"])
    return made


def recorded(what, amount):
    return {name: RECORDED[f"{what}/{amount}/{name}"] for name in SHAPES}


def assert_equal(found, wanted):
    for name, mask in wanted.items():
        assert_array_equal(found.get(name, found.get(f"{name}/kernel")), mask)


@pytest.mark.parametrize("amount", AMOUNTS)
def test_single_weights(amount):
    assert_equal(prune(model(), amount), recorded("l1_unstructured", amount))
    assert_equal(prune(model(), amount, scope="global"), recorded("global_unstructured", amount))


@pytest.mark.parametrize("amount", AMOUNTS)
@pytest.mark.parametrize("method", STRUCTURED)
def test_channels(method, amount):
    settings = {"method": method.removesuffix("_structured"), "granularity": "channel"}
    for axis in (-2, -1):
        found = prune(model(), amount, axis=axis, **settings)
        assert_equal(found, recorded(f"{method}{axis}", amount))


@pytest.mark.parametrize("amount", AMOUNTS)
def test_random_numbers(amount):
    """Its draws ranked by us. PyTorch prunes the largest draws of weights, but the smallest of channels."""
    kept = {name: highest(1 - draws, amount) for name, draws in recorded("draws", amount).items()}
    assert_equal(kept, recorded("random_unstructured", amount))
    for axis in (-2, -1):
        spreads = {
            name: np.asarray(expand_channel_mask(highest(draws, amount), SHAPES[name], (axis,)))
            for name, draws in recorded(f"draws{axis}", amount).items()
        }
        assert_equal(spreads, recorded(f"random_structured{axis}", amount))
