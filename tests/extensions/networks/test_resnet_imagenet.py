"""The networks for ImageNet against a forward pass written from He et al.'s table, and how they start."""

import keras
import numpy as np
import pytest

from tests.models.numpy_layers import check_forward_pass, max_pool, rectified, scramble
from tfaudit.models.registry import build_model

BLOCKS = {  # blocks per stage, kernels of a block, strides of a stage's first one
    "resnet18": ((2, 2, 2, 2), (3, 3), (2, 1)),
    "resnet18_small": ((2, 2, 2, 2), (3, 3), (2, 1)),
    "resnet50": ((3, 4, 6, 3), (1, 3, 1), (1, 2, 1)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKS)
def test_forward_pass_in_numpy(name):
    keras.utils.set_random_seed(0)
    model = build_model(name, (40, 40, 3), 10, mean=120.0, std=60.0, width=1 / 16)
    scramble(model)
    counts, kernels, strides = BLOCKS[name]
    small = name.endswith("small")

    def features(x, conv, conv_bn, weights):
        x = rectified(conv_bn(x, "conv1", 1 if small else 2))
        x = x if small else max_pool(x)
        for stage, count in enumerate(counts, start=1):
            for number in range(1, count + 1):
                block, first = f"stage{stage}_block{number}", stage > 1 and number == 1
                y = x
                for i, (kernel, stride) in enumerate(zip(kernels, strides, strict=True), start=1):
                    assert weights[f"{block}_conv{i}/kernel"].shape[0] == kernel
                    y = conv_bn(y, f"{block}_conv{i}", stride if first else 1)
                    y = y if i == len(kernels) else rectified(y)
                if y.shape != x.shape:
                    x = conv_bn(x, f"{block}_shortcut", 2 if first else 1)
                x = rectified(x + y)
        return x

    check_forward_pass(model, features)


@pytest.mark.parametrize("name", BLOCKS)
def test_every_block_starts_as_its_shortcut(name):
    model = build_model(name, (16, 16, 3), 10, width=1 / 16)
    last = len(BLOCKS[name][1])
    zero = {
        layer.name
        for layer in model.layers
        if layer.name.endswith("_bn") and not layer.gamma.numpy().any()
    }
    assert zero == {
        f"stage{s}_block{b}_conv{last}_bn"
        for s, n in enumerate(BLOCKS[name][0], 1)
        for b in range(1, n + 1)
    }


@pytest.mark.slow
def test_kernels_start_with_variance_one_over_fan_in():
    kernel = (
        build_model("resnet50", (16, 16, 3), 10, width=0.5)
        .get_layer("stage4_block1_conv2")
        .kernel.numpy()
    )
    assert kernel.std() == pytest.approx((9 * 256) ** -0.5, rel=0.01)
    assert (
        np.abs(kernel).max() <= 2 * (9 * 256) ** -0.5 / 0.8796 + 1e-6
    )  # truncated at two deviations
