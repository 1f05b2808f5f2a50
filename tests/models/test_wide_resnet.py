"""The wide network against a forward pass written from the paper: normalise, activate, convolve."""

import keras
import numpy as np

from tests.models.numpy_layers import batch_norm, convolve
from tfaudit.models.registry import build_model


def test_forward_pass_in_numpy():
    keras.utils.set_random_seed(0)
    model = build_model(
        "wide_resnet", (12, 12, 3), 10, mean=120.0, std=60.0, depth=16, widening=2, width=0.25
    )
    random = np.random.default_rng(0)
    for layer in model.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.set_weights([random.uniform(0.5, 1.5, w.shape) for w in layer.get_weights()])
    weights = {v.path: v.numpy().astype(float) for v in model.variables}
    images = random.integers(0, 256, (2, 12, 12, 3)).astype(np.float32)

    def active(x, layer):
        return np.maximum(batch_norm(x, weights, f"{layer}_bn"), 0)

    x = convolve((images - 120.0) / 60.0, weights["conv1/kernel"])
    for stage in (1, 2, 3):
        for number in (1, 2):
            block, stride = f"stage{stage}_block{number}", 2 if stage > 1 and number == 1 else 1
            a = active(x, f"{block}_conv1")
            y = convolve(a, weights[f"{block}_conv1/kernel"], stride)
            y = convolve(active(y, f"{block}_conv2"), weights[f"{block}_conv2/kernel"])
            x = y + (x if number == 2 else convolve(a, weights[f"{block}_shortcut/kernel"], stride))
    logits = (
        active(x, "final").mean(axis=(1, 2)) @ weights["logits/kernel"] + weights["logits/bias"]
    )
    np.testing.assert_allclose(model(images), logits, rtol=1e-4, atol=1e-4)


def test_widening_and_width_multiply():
    model = build_model("wide_resnet", (8, 8, 3), 10, depth=10, widening=3, width=0.5)
    widths = [
        model.get_layer(name).filters
        for name in ("conv1", "stage1_block1_conv1", "stage3_block1_conv2")
    ]
    assert widths == [8, 24, 96]
