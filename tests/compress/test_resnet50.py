"""The real ResNet-50 on real photographs: quantized and pruned in one shot, it lands on the figures measured before.

On all 1,000 photographs: Keras top-1 .907 and top-5 .989; int8, calibrated on every tenth, .895 with 28 flips; one-shot
layerwise magnitude pruning of the convolutions 30 % .885, 50 % .844, 70 % .274. These tests take every tenth, by day
every fortieth.
"""

import keras
import numpy as np
import pytest
from PIL import Image

from tfaudit.compress.litert.inference import predict
from tfaudit.compress.litert.quantize import quantize
from tfaudit.compress.pruning.one_shot import prune

pytestmark = [pytest.mark.slow, pytest.mark.data]

LABELS = np.arange(0, 1000, 10)


@pytest.fixture(scope="module")
def images(real_data):
    folder = real_data / "imagenet-sample"
    if not folder.is_dir():
        pytest.skip("TFAUDIT_DATA holds no imagenet-sample")
    files = sorted(folder.glob("*.jpg"))
    crops = [np.asarray(Image.open(file).convert("RGB"))[16:240, 16:240] for file in files[::10]]
    return keras.applications.resnet50.preprocess_input(np.stack(crops).astype(np.float32))


@pytest.fixture(scope="module")
def model(real_data):
    return keras.saving.load_model(real_data / "resnet50.keras", compile=False)


@pytest.fixture(scope="module")
def dense(model, images):
    return predict(model, images, batch_size=25)


def hits(classes, k=1, labels=LABELS):
    return int((classes[:, :k] == labels[:, None]).any(axis=1).sum())


def test_keras(model, images):
    classes, probabilities = predict(model, images[::4], batch_size=25)
    assert (hits(classes, 1, LABELS[::4]), hits(classes, 5, LABELS[::4])) == (22, 25)
    assert probabilities.sum(axis=1).max() <= 1 + 1e-6


@pytest.mark.nightly
def test_keras_on_a_hundred(dense):
    assert (hits(dense.classes), hits(dense.classes, 5)) == (89, 99)


@pytest.mark.nightly
def test_int8(model, images, dense):
    content = quantize(model, "int8", representative=images[::10])
    assert len(content) == pytest.approx(26.3e6, rel=0.01)
    classes, _ = predict(content, images, batch_size=25, threads=2)
    assert hits(classes) == pytest.approx(87, abs=2)
    assert (classes[:, 0] != dense[0][:, 0]).sum() == pytest.approx(4, abs=2)


@pytest.mark.nightly
def test_pruned_in_one_shot(model, images, dense):
    convolutions = [layer.name for layer in model.layers if isinstance(layer, keras.layers.Conv2D)]
    weights = model.get_weights()
    try:
        for sparsity, right, flips in ((0.5, 81, 12), (0.7, 23, 75)):
            masks = prune(model, sparsity, layers=convolutions)
            assert len(masks) == 53
            classes, _ = predict(model, images, batch_size=25)
            assert hits(classes) == pytest.approx(right, abs=2)
            assert (classes[:, 0] != dense[0][:, 0]).sum() == pytest.approx(flips, abs=2)
    finally:
        model.set_weights(weights)
