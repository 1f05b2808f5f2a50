"""predict: Keras models and flatbuffers, in every form, against plain NumPy and Keras' own predict."""

import functools
import itertools
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from keras import layers
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax

from tests.builders.kinds import INSTALLED
from tests.builders.refusals import assert_refused
from tests.builders.stacks import stack
from tfaudit.compress.keras_model import ends_in_probabilities
from tfaudit.compress.litert.inference import predict
from tfaudit.compress.litert.quantize import quantize
from tfaudit.errors import InputError
from tfaudit.stats.ranking import RankedClasses
from tfaudit.study.quantization import KERNELS

IMAGES = np.random.default_rng(1).random((23, 6, 6, 2), np.float32)


def net(*end, shape=(6, 6, 2), classes=7, norm=None, **input_settings):
    keras.utils.set_random_seed(3)
    return keras.Sequential(
        [
            keras.Input(shape, **input_settings),
            *([norm] if norm else []),
            layers.Conv2D(4, 3, activation="relu", kernel_initializer="random_normal"),
            layers.Flatten(),
            layers.Dense(classes, kernel_initializer="random_normal"),
            *end,
        ]
    )


def forms(model):
    """A model itself, and its float32 flatbuffer."""
    return model, quantize(model, "float32")


def require_same(ranked, expected, **tolerance):
    """Equal classes, and probabilities that are equal or within a tolerance."""
    assert_array_equal(ranked.classes, expected.classes)
    assert_allclose(ranked.probabilities, expected.probabilities, **{"rtol": 0, **tolerance})


@pytest.fixture(scope="module")
def model():
    return net()


@pytest.fixture(scope="module")
def int8(model):
    return quantize(model, "int8", representative=IMAGES)


@pytest.fixture(scope="module")
def rounding():
    """An int8 flatbuffer whose depthwise layer rounds otherwise with every kind of kernels but the delegate's."""
    keras.utils.set_random_seed(3)  # before the layers, which draw the seeds of their weights
    end = [layers.DepthwiseConv2D(3), layers.Flatten(), layers.Dense(7), layers.Softmax()]
    network = keras.Sequential([keras.Input((6, 6, 2)), layers.Conv2D(8, 3, padding="same"), *end])
    return quantize(network, "int8", representative=IMAGES)


def test_agrees_with_keras_predict_and_scipy_softmax(model):
    classes, probabilities = predict(model, IMAGES, batch_size=10)
    expected = softmax(model.predict(IMAGES, verbose=0).astype(np.float64), axis=1)
    assert (classes.dtype, probabilities.dtype) == (np.int32, np.float32)
    assert_array_equal(classes, np.argsort(-expected, axis=1)[:, :5])
    assert_allclose(probabilities, -np.sort(-expected, axis=1)[:, :5], rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", INSTALLED)
def test_flatbuffers_agree_with_keras(model, kind):
    wanted = predict(model, IMAGES, k=7)
    got = predict(quantize(model, kind, representative=IMAGES), IMAGES, batch_size=10, k=7)
    by_class = [np.take_along_axis(p, np.argsort(c, axis=1), axis=1) for c, p in (wanted, got)]
    assert_allclose(*by_class, atol={"float32": 1e-6, "float16": 1e-3, "int4": 0.1}.get(kind, 2e-2))


def ops_softmax():
    inputs = keras.Input((6, 6, 2))
    return keras.Model(inputs, keras.ops.softmax(net()(inputs)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "ended",
    [
        lambda: net(layers.Softmax()),
        lambda: net(layers.Activation("softmax")),
        lambda: stack((6, 6, 2), net(layers.Softmax())),
        ops_softmax,
    ],
)
def test_softmax_is_applied_once(model, ended):
    for other in forms(ended()):
        require_same(predict(other, IMAGES), predict(model, IMAGES), atol=1e-6)


def test_logits_that_look_like_probabilities_get_their_softmax():
    model = stack((2,), layers.Dense(2, kernel_initializer="identity"))
    for form in forms(model):
        _, probabilities = predict(form, np.array([[0.25, 0.75]]))
        assert_allclose(probabilities, [softmax([0.75, 0.25])], rtol=1e-6)


@pytest.mark.slow
def test_scores_of_which_neither_model_nor_values_show_what_they_are():
    """Halves of a softmax: in [0, 1], and no row sums to 1. They were once put through a second softmax."""
    inputs = keras.Input((6,))
    model = keras.Model(inputs, 0.5 * keras.ops.softmax(inputs))
    images = np.eye(6)
    assert_refused(r"scores in \[0, 1\] with row sums of 0.5 to 0.5", predict, model, images)
    _, probabilities = predict(model, images, k=1, scores_are="probabilities")
    assert_allclose(probabilities[:, 0], 0.5 * softmax(images, axis=1).max(1), rtol=1e-6)


@pytest.mark.slow
def test_int8_softmax_over_many_classes_keeps_its_probabilities():
    # 300 classes: nearly all of them round to 0 in int8, and the rows do not sum to 1.
    model = net(layers.Softmax(), classes=300)
    _, wanted = predict(model, IMAGES, k=300)
    _, got = predict(quantize(model, "int8", representative=IMAGES), IMAGES, k=300)
    assert np.abs(got.sum(axis=1) - 1).max() > 0.02
    assert_allclose(got, wanted, atol=2 / 256)


@pytest.mark.slow
@pytest.mark.parametrize("end", [[], [layers.Activation("sigmoid")]])
def test_one_unit_is_two_classes(end):
    logits = net(classes=1).predict(IMAGES, verbose=0)[:, 0]
    model = net(*end, classes=1)
    for form in forms(model):
        # a file or model that ends in no sigmoid may be a regression
        classes, probabilities = predict(form, IMAGES, scores_are="auto" if end else "logits")
        assert_array_equal(classes[:, 0], logits > 0)
        assert_array_equal(classes[:, 1], logits <= 0)
        assert_allclose(probabilities[:, 0], expit(np.abs(logits)), rtol=1e-5)


def test_what_changes_no_value_does_not_hide_the_end_of_a_model():
    """keras-team/keras-cv#752 ends models in float32 by a layer without a function of its own."""
    inner = stack((1,), layers.Reshape((1, 1)), layers.Identity())
    float32 = layers.Activation("linear", dtype="float32")
    cast = layers.Lambda(lambda values: keras.ops.cast(values, "float32"))
    ends = [inner, layers.Flatten(), layers.Dropout(0.5), float32, cast]

    def ended(*end):
        source = keras.Input((2,))
        scores = layers.Dense(1, dtype="mixed_float16")(source)
        for layer in end:
            scores = layer(scores)
        return keras.Model(source, scores)

    for first, expected in (("sigmoid", True), ("linear", False), ("relu", None)):
        activation = layers.Activation(first, dtype="mixed_float16")
        assert ends_in_probabilities(ended(activation, *ends)) is expected
        assert ends_in_probabilities(ended(activation, layers.Rescaling(2.0), *ends)) is None
    model = ended(layers.Activation("sigmoid"), *ends)
    for form in forms(model):
        classes, probabilities = predict(form, IMAGES[:, 0, 0])
        expected = model.predict(IMAGES[:, 0, 0], verbose=0)[:, 0]
        assert_allclose(probabilities[classes == 1], expected, atol=2e-3)


@pytest.mark.slow
def test_every_form_of_images_and_model_gives_the_same(model, tmp_path):
    class Batched:
        def batches(self, batch_size):
            return tf.data.Dataset.from_tensor_slices((IMAGES, np.arange(23))).batch(batch_size)

    wanted = predict(model, IMAGES, batch_size=10)
    pairs = tf.data.Dataset.from_tensor_slices((IMAGES, np.arange(23))).batch(10)
    generator = (IMAGES[i : i + 10] for i in range(0, 23, 10))
    for images in (Batched(), pairs, pairs.map(lambda x, y: x), generator, tf.constant(IMAGES)):
        require_same(predict(model, images, batch_size=10), wanted)

    model.save(tmp_path / "model.keras")
    (tmp_path / "model.tflite").write_bytes(quantize(model, "float32"))
    for form in (tmp_path / "model.keras", str(tmp_path / "model.tflite")):
        assert_array_equal(predict(form, IMAGES)[0], wanted[0])
    for form in forms(net(batch_size=4)):  # the last batch is filled up
        require_same(predict(form, IMAGES, batch_size=10), wanted, atol=1e-6)


def test_keras_generators_are_read_once_and_in_order(model):
    class Flow(keras.utils.PyDataset):
        shuffle = False

        def __len__(self):
            return 3

        def __getitem__(self, index):
            return IMAGES[10 * index : 10 * index + 10], np.zeros(10)

        def __iter__(self):  # as in ImageDataGenerator.flow
            return itertools.cycle(map(self.__getitem__, range(3)))

    flow = Flow()
    require_same(predict(model, flow), predict(model, IMAGES, batch_size=10))
    flow.shuffle = True
    assert_refused(r"images: got a Flow of random order, expected .*shuffle", predict, model, flow)


def test_uint8_images_are_their_values(model):
    pixels = (IMAGES * 255).astype(np.uint8)
    for form in forms(model):
        require_same(predict(form, pixels), predict(form, pixels.astype(np.float32)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("io", "settings"), [("int8", {}), ("uint8", {}), ("int8", {"percentile": 99.9})]
)
def test_full_integer_files_give_the_scores_of_those_with_float_inputs(model, io, settings):
    made = functools.partial(quantize, model, "int8", representative=IMAGES, **settings)
    content = made(io=io)
    interpreter = Interpreter(model_content=content)
    ends = (*interpreter.get_input_details(), *interpreter.get_output_details())
    assert {tensor["dtype"] for tensor in ends} == {np.dtype(io).type}
    require_same(predict(content, IMAGES), predict(made(), IMAGES))


@pytest.mark.parametrize(
    ("kernels", "resolver"),
    [
        ("default", OpResolverType.AUTO),
        ("plain", OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES),
        ("reference", OpResolverType.BUILTIN_REF),
    ],
)
def test_kernels_are_those_that_litert_calls_so(rounding, kernels, resolver):
    interpreter = Interpreter(model_content=rounding, experimental_op_resolver_type=resolver)
    ((source,), (scores,)) = interpreter.get_input_details(), interpreter.get_output_details()
    interpreter.resize_tensor_input(source["index"], IMAGES.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(source["index"], IMAGES)
    interpreter.invoke()
    expected = -np.sort(-interpreter.get_tensor(scores["index"]), axis=1)
    ranked = predict(rounding, IMAGES, k=7, kernels=kernels)
    np.testing.assert_array_equal(ranked.probabilities, expected)
    found = (predict(rounding, IMAGES, k=7, kernels=name).probabilities for name in KERNELS)
    assert len({probabilities.tobytes() for probabilities in found}) > 1


def test_what_changes_between_calls_is_seen():
    """Layers, activations, weights, and constants that are no weights, on which Keras' own trace is stale."""
    norm = layers.Normalization()
    norm.adapt(IMAGES)
    model = net(layers.Activation("softmax"), norm=norm)
    predict(model, IMAGES)

    def changed(change):
        change()
        scores = model(IMAGES).numpy()
        expected = np.argsort(-scores, axis=1, kind="stable")[:, :5]
        assert_array_equal(predict(model, IMAGES, scores_are="logits").classes, expected)
        return scores

    before = changed(model.pop)
    steps = (
        lambda: norm.adapt(10 * IMAGES[:, :2] - 3),
        lambda: setattr(model.layers[-1], "activation", keras.activations.relu),
        lambda: model.set_weights([-weight for weight in model.get_weights()]),
    )
    for step in steps:
        after = changed(step)
        assert np.abs(after - before).max() > 0.01
        before = after


@pytest.mark.slow
def test_flatbuffers_need_no_tensorflow(model, tmp_path):
    (tmp_path / "model.tflite").write_bytes(quantize(model, "int8", representative=IMAGES))
    np.save(tmp_path / "images.npy", IMAGES)
    program = (
        "import sys; sys.modules.update(tensorflow=None, keras=None)\n"
        "import numpy as np; from tfaudit.compress.counts import counts; counts('model.tflite')\n"
        "from tfaudit.compress.litert.inference import predict\n"
        "print(predict('model.tflite', np.load('images.npy'))[0].tolist())"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.stderr == ""
    assert run.stdout == f"{predict(tmp_path / 'model.tflite', IMAGES)[0].tolist()}\n"


def nan_model():
    model = net()
    model.set_weights([np.full_like(w, np.nan) for w in model.get_weights()])
    return model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: 3, "model: got int, expected a Keras 3 model"),
        (lambda: keras.Sequential([layers.Dense(2)]), "has no variables yet"),
        (lambda: stack((6, 6, 2), layers.ReLU()), "scores of shape"),
        (nan_model, "model: got scores of NaN or infinity for 23 of 23 images"),
        (lambda: b"", "model: got 0 bytes that LiteRT cannot run"),
        (lambda: "nowhere.tflite", "model: got nowhere.tflite, which does not exist"),
        (lambda: "model.onnx", "expected a .keras or .tflite file"),
    ],
)
def test_models_that_cannot_be_run_get_one_line(model, message):
    with pytest.raises(InputError) as caught:
        predict(model(), IMAGES)
    assert message in str(caught.value)


def test_a_tf_keras_model_is_pointed_elsewhere(monkeypatch):
    foreign = type("Functional", (), {"__module__": "tf_keras.src.engine.functional"})()
    assert_refused(r"tf_keras .*from_scores", predict, foreign, IMAGES)


@pytest.mark.parametrize("name", ["a.keras", "b.tflite"])
def test_damaged_files_get_one_line(int8, tmp_path, name):
    contents = {"a.keras": b"no zip", "b.tflite": int8[: len(int8) // 2]}
    (tmp_path / name).write_bytes(contents[name])
    with pytest.raises(InputError):
        predict(tmp_path / name, IMAGES)


@pytest.mark.parametrize(
    ("images", "settings", "message"),
    [
        (
            IMAGES[:, :5],
            {},
            r"images: got shape \(23, 5, 6, 2\), expected \(N, 6, 6, 2\), as the model",
        ),
        (iter(()), {}, "images: got no images"),
        (np.full((1, 6, 6, 2), "a"), {}, "images: got type <U1, expected float32"),
        (5, {}, "images: got int, expected an array, a data set"),
        ([["a"]], {}, "images: got a batch of type str"),
        (IMAGES, {"k": 0}, "k: got 0, expected"),
        (IMAGES, {"kernels": "fast"}, "kernels: got 'fast', expected 'default', 'plain' or 'ref"),
    ],
)
def test_bad_images_and_settings(int8, images, settings, message):
    assert_refused(message, predict, int8, images, **settings)


def only(ranked, classes):
    """The ranking of all, the others struck out."""
    kept = np.isin(ranked.classes, classes)
    shape = len(ranked.classes), len(classes)
    shares = ranked.probabilities[kept].reshape(shape)
    return RankedClasses(ranked.classes[kept].reshape(shape), shares / shares.sum(1, keepdims=True))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["keras", "int8"])
def test_only_the_classes_that_are_allowed_are_predicted(model, kind):
    runs = model if kind == "keras" else quantize(model, kind, representative=IMAGES)
    found = predict(runs, IMAGES, k=5, classes=[6, 1, 4])
    require_same(found, only(predict(runs, IMAGES, k=7), [1, 4, 6]), rtol=1e-4)
    assert_allclose(found.probabilities.sum(axis=1), 1, rtol=1e-5)


def test_classes_of_a_model_that_ends_in_softmax_or_in_one_unit():
    soft = net(layers.Softmax())
    found = predict(soft, IMAGES, classes=np.array([2, 5]))
    require_same(found, only(predict(soft, IMAGES, k=7), [2, 5]), rtol=1e-5)
    one = net(layers.Activation("sigmoid"), classes=1)
    answered, probabilities = predict(one, IMAGES, classes=[1])
    assert (answered == 1).all()
    assert (probabilities == 1).all()


def test_probabilities_that_are_all_zero_are_shared_equally():
    """As an int8 softmax gives them for classes it thinks nothing of."""
    end = stack((3,), layers.Activation("linear"))
    answered, probabilities = predict(end, np.array([[1.0, 0, 0]], np.float32), classes=[2, 1])
    assert_array_equal(answered, [[1, 2]])
    assert_array_equal(probabilities, [[0.5, 0.5]])


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([7], "classes: got 7, expected classes from 0 to 6"),
        ([], "expected one class index or more"),
        ([0.5], "classes: got float64"),
        ([-1], "classes: got a negative or repeated class"),
    ],
)
def test_classes_that_cannot_be(model, classes, message):
    assert_refused(message, predict, model, IMAGES, classes=classes)
