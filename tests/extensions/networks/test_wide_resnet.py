"""The wide network against a forward pass written from the paper: normalise, activate, convolve."""

import keras

from tests.builders.refusals import assert_refused
from tests.models.numpy_layers import batch_norm, check_forward_pass, rectified, scramble
from tfaudit.models.registry import build_model


def test_forward_pass_in_numpy():
    keras.utils.set_random_seed(0)
    model = build_model(
        "wide_resnet", (12, 12, 3), 10, mean=120.0, std=60.0, depth=16, widening=2, width=0.25
    )
    scramble(model)

    def features(x, conv, conv_bn, weights):
        def active(x, layer):
            return rectified(batch_norm(x, weights, f"{layer}_bn"))

        x = conv(x, "conv1")
        for stage in (1, 2, 3):
            for number in (1, 2):
                block, stride = f"stage{stage}_block{number}", 2 if stage > 1 and number == 1 else 1
                a = active(x, f"{block}_conv1")
                y = active(conv(a, f"{block}_conv1", stride), f"{block}_conv2")
                shortcut = x if number == 2 else conv(a, f"{block}_shortcut", stride)
                x = conv(y, f"{block}_conv2") + shortcut
        return active(x, "final")

    check_forward_pass(model, features)


def test_widening_and_width_multiply():
    model = build_model("wide_resnet", (8, 8, 3), 10, depth=10, widening=3, width=0.5)
    widths = [
        model.get_layer(name).filters
        for name in ("conv1", "stage1_block1_conv1", "stage3_block1_conv2")
    ]
    assert widths == [8, 24, 96]


def test_a_depth_that_no_wide_network_has_is_refused():
    message = "depth: got 20, expected 6 n . 4"
    assert_refused(message, build_model, "wide_resnet", (32, 32, 3), 10, depth=20)
