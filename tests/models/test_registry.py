import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from tests.builders.extension_contracts import contributed
from tests.builders.nightly import and_nightly
from tests.builders.refusals import assert_refused
from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.compress.litert.quantize import quantize
from tfaudit.models.registry import ARCHITECTURES, build_model

SMALL = {
    "digits_convnet": (8, 8, 1),
    "cifar_convnet": (8, 8, 3),
    "lenet_r": (28, 28, 1),
    "lenet_p": (28, 28, 1),
    "resnet20": (32, 32, 3),
}
NARROW = {"resnet20": {"blocks": [1, 1, 1]}}  # with a block of every sort
for name, shape, options in contributed("SMALL_NETWORKS"):
    SMALL[name], NARROW[name] = shape, options
FAST = ("digits_convnet", "lenet_r")  # convert in half a second
contract = pytest.mark.parametrize("name", SMALL)


def build(name, **options):
    return build_model(name, SMALL[name], 7, **NARROW.get(name, {}), **options)


@pytest.fixture(
    scope="module",
    params=[n if n in FAST else pytest.param(n, marks=pytest.mark.slow) for n in SMALL],
)
def models(request):
    """Name and three networks of every architecture: of seed 0, of seed 0 again, and of seed 1."""
    built = []
    for seed in (0, 0, 1):
        keras.utils.set_random_seed(seed)
        channels = SMALL[request.param][-1]
        built.append(build(request.param, mean=[90.0] * channels, std=[60.0] * channels))
    return request.param, *built


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "shape", "classes", "parameters"),
    [
        ("lenet_r", (28, 28, 1), 10, 61_706),
        ("lenet_p", (28, 28, 1), 10, 60_074),
        ("digits_convnet", (8, 8, 1), 10, 13_706),
        ("resnet20", (32, 32, 3), 10, 269_722),
        ("resnet32", (32, 32, 3), 10, 464_154),
        ("resnet44", (32, 32, 3), 10, 658_586),
        ("resnet56", (32, 32, 3), 10, 853_018),
        ("resnet110", (32, 32, 3), 10, 1_727_962),
        ("cifar_convnet", (32, 32, 3), 10, 98_970),
        *contributed("PARAMETER_COUNTS"),
    ],
)
def test_parameter_counts_are_those_of_papers_and_torchvision(name, shape, classes, parameters):
    with keras.StatelessScope(initialize_variables=False):  # no variable gets a value
        variables = build_model(name, shape, classes).trainable_variables
    assert sum(int(np.prod(variable.shape)) for variable in variables) == parameters


def test_pixels_in_logits_out(models):
    name, model, *_ = models
    assert isinstance(model, keras.Model)
    assert model.layers[-1].name == "logits"
    logits = model.predict(np.full((2, *SMALL[name]), 200, np.uint8), verbose=0)
    assert (logits.shape, logits.dtype) == ((2, 7), np.float32)


def test_a_seed_fixes_the_weights(models):
    first, again, other = (model.get_weights() for model in models[1:])
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert any((a != b).any() for a, b in zip(first, other, strict=True))


def test_names_are_the_same_in_every_model(models):
    _, first, second, _ = models
    assert [v.path for v in first.weights] == [
        v.path for v in second.weights
    ]  # Dropout's state is no weight
    kernels = [v.path for v in first.trainable_variables if v.path.endswith("kernel")]
    assert kernels[0] == "conv1/kernel"
    assert kernels[-1] == "logits/kernel"


def test_a_saved_model_needs_nothing_of_ours(models, tmp_path):
    name, model, *_ = models
    model.save(tmp_path / "m.keras")
    loaded = keras.saving.load_model(tmp_path / "m.keras", safe_mode=True)
    images = np.random.default_rng(0).integers(0, 256, (4, *SMALL[name])).astype(np.float32)
    assert_array_equal(model(images), loaded(images))


@contract
def test_the_first_layer_normalises(name):
    shape = SMALL[name]
    mean, std = np.arange(shape[-1]) + 100.0, np.arange(shape[-1]) + 40.0
    model = build(name, mean=mean, std=std)
    images = np.random.default_rng(0).integers(0, 256, (4, *shape)).astype(np.float32)
    assert_allclose(model.get_layer("normalise")(images), (images - mean) / std, atol=1e-5)


@contract
def test_mixed_precision_keeps_float32_logits(name):
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = build(name)
    finally:
        keras.config.set_dtype_policy(policy)
    assert model.get_layer("conv1").compute_dtype == "bfloat16"
    assert model.output.dtype == "float32"


@pytest.mark.parametrize(
    "name", and_nightly(["lenet_p", "resnet20"], sorted(SMALL.keys() - {"lenet_p", "resnet20"}))
)
def test_int8_conversion_agrees(name):
    keras.utils.set_random_seed(0)
    channels = SMALL[name][-1]
    model = build(name, mean=[90.0] * channels, std=[60.0] * channels)
    images = np.random.default_rng(0).integers(0, 256, (32, *SMALL[name])).astype(np.float32)
    expected = model(images).numpy()
    found = Flatbuffer(quantize(model, "int8", representative=images))(images)
    assert np.abs(found - expected).max() < 0.1 * np.ptp(expected)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (
            ("vgg", (32, 32, 3), 10),
            {},
            "model: got 'vgg', expected 'digits_convnet', '",
        ),
        (
            ("lenet_r", (11, 28, 1), 10),
            {},
            r"input_shape: got \(11, 28, 1\), expected at least 12 x 12 pixels for 'lenet_r'",
        ),
        (("resnet20", (None, None, 3), 10), {}, "all of them numbers"),
        (("lenet_r", (28, 28, 1), 1), {}, "num_classes: got 1, expected 2 or more"),
        (
            ("lenet_r", (28, 28, 1), 10),
            {"wide": 2},
            "options: got 'wide', expected options of 'lenet_r': width",
        ),
        (("lenet_r", (28, 28, 1), 10), {"width": 0}, "width: got 0, expected a positive number"),
        (
            ("resnet20", (32, 32, 3), 10),
            {"shortcuts": "b"},
            "shortcuts: got 'b', expected 'identity' or 'projection'",
        ),
        (("lenet_r", (28, 28, 1), 10), {"classifier_std": 0}, "expected a positive number"),
        (("lenet_r", (28, 28, 1), 10), {"std": 0.0}, "std: got .*, expected positive"),
        (
            ("lenet_r", (28, 28, 1), 10),
            {"mean": [1.0, 2.0]},
            "mean: got .*, expected one finite number or 1",
        ),
    ],
)
def test_bad_arguments(arguments, options, message):
    assert_refused(message, build_model, *arguments, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in tuple(ARCHITECTURES) if name not in ("resnet56", "resnet110")]
)
def test_the_smallest_images_work_on_a_narrow_network(name):
    edge = ARCHITECTURES[name].smallest
    model = build_model(name, (edge, edge, 1), 3, width=0.01)
    assert model(np.zeros((1, edge, edge, 1), np.float32)).shape == (1, 3)


def test_the_classifier_is_drawn_from_a_normal_distribution():
    keras.utils.set_random_seed(1)
    model = build_model("lenet_r", (28, 28, 1), 100, classifier_std=0.01)
    kernel, bias = model.get_layer("logits").get_weights()
    assert stats.kstest(kernel.ravel(), stats.norm(0, 0.01).cdf).pvalue > 0.01
    assert not bias.any()


def test_options_reach_the_architecture():
    assert (
        build_model("digits_convnet", (8, 8, 1), 10, filters=(8, 16), units=32).count_params()
        == 3_658
    )
