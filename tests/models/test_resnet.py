"""The shortcut of option A against its definition, and the network against an independent forward pass."""

import keras
import numpy as np
import pytest

from tests.models.numpy_layers import check_forward_pass, rectified
from tfaudit.models.registry import build_model


def test_blocks_stand_for_the_depth():
    found = [
        build_model("resnet56", (8, 8, 3), 10, blocks=[3, 3, 3]),
        build_model("resnet20", (8, 8, 3), 10),
    ]
    (few, whole) = (
        [(variable.path, variable.shape) for variable in model.variables] for model in found
    )
    assert few == whole


def test_projections_have_the_parameters_of_published_weights():
    model = build_model("resnet56", (32, 32, 3), 10, shortcuts="projection")
    assert sum(variable.numpy().size for variable in model.trainable_variables) == 855_770


@pytest.mark.parametrize("shortcuts", ["identity", "projection"])
def test_forward_pass_in_numpy(shortcuts):
    keras.utils.set_random_seed(0)
    model = build_model("resnet20", (8, 8, 3), 10, mean=120.0, std=60.0, shortcuts=shortcuts)

    def features(x, conv, conv_bn, weights):
        x = rectified(conv_bn(x, "conv1"))
        for stage in (1, 2, 3):
            for block in (1, 2, 3):
                stride, name = (2 if stage > 1 and block == 1 else 1), f"stage{stage}_block{block}"
                y = conv_bn(rectified(conv_bn(x, f"{name}_conv1", stride)), f"{name}_conv2")
                extra = (y.shape[-1] - x.shape[-1]) // 2
                if stride == 2 and shortcuts == "projection":
                    x = conv_bn(x, f"{name}_shortcut", stride)
                else:
                    x = np.pad(x[:, ::stride, ::stride], [(0, 0), (0, 0), (0, 0), (extra, extra)])
                x = rectified(y + x)
        return x

    check_forward_pass(model, features)
