"""Models of several inputs and outputs, of text and tokens, and recurrent ones: predicted, quantized, counted."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose, assert_array_equal

from tests.builders.nightly import first_and_nightly
from tests.builders.refusals import assert_refused
from tests.builders.stacks import stack
from tfaudit.compress.counts import counts
from tfaudit.compress.litert.conversions import Conversions
from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.compress.litert.inference import predict
from tfaudit.compress.litert.latency import latencies
from tfaudit.compress.litert.quantize import as_flatbuffer, quantize
from tfaudit.compress.model_comparison import compare_models, predictions_of
from tfaudit.compress.pruning.one_shot import prune

RNG = np.random.default_rng(0)
WORDS, LENGTH, N = 30, 6, 40
TEXT = {
    "token_ids": RNG.integers(0, WORDS, (N, LENGTH)),
    "segment_ids": RNG.integers(0, 2, (N, LENGTH)),
    "padding_mask": np.arange(LENGTH)[None] < RNG.integers(2, LENGTH + 1, (N, 1)),
}


def small_bert():
    """A transformer of one block with the inputs of keras_hub's, and two outputs."""
    keras.utils.set_random_seed(0)
    tokens = keras.Input((LENGTH,), dtype="int32", name="token_ids")
    mask = keras.Input((LENGTH,), dtype="bool", name="padding_mask")
    segments = keras.Input((LENGTH,), dtype="int32", name="segment_ids")
    x = keras.layers.Embedding(WORDS, 8)(tokens) + keras.layers.Embedding(2, 8)(segments)
    attended = keras.layers.MultiHeadAttention(2, 4)(
        x, x, attention_mask=keras.ops.expand_dims(mask, 1)
    )
    x = keras.layers.LayerNormalization()(x + attended)
    pooled = keras.layers.Dense(8, activation="tanh")(x[:, 0])
    inputs = {"token_ids": tokens, "segment_ids": segments, "padding_mask": mask}
    kinds = keras.layers.Dense(3, name="kinds")(pooled)
    return keras.Model(
        inputs, {"kind": kinds, "mood": keras.layers.Dense(4, activation="softmax")(pooled)}
    )


def two_towers():
    """A model of lists: two inputs by position, two outputs by the names of their layers."""
    keras.utils.set_random_seed(1)
    a, b = keras.Input((4,), name="left"), keras.Input((2,), name="right")
    x = keras.layers.Concatenate()([keras.layers.Dense(3, activation="relu")(a), b])
    return keras.Model(
        [a, b], [keras.layers.Dense(3, name="first")(x), keras.layers.Dense(5, name="second")(x)]
    )


@pytest.fixture(scope="module")
def bert():
    return small_bert()


@pytest.fixture(scope="module")
def bert_file(bert):
    return quantize(bert, "float32", representative=TEXT)


def test_dictionaries_of_tokens_and_masks(bert):
    scores = {name: np.asarray(values) for name, values in bert(TEXT).items()}
    classes, probabilities = predict(bert, TEXT, k=3, output="kind", batch_size=7)
    assert_array_equal(classes, np.argsort(-scores["kind"], axis=1, kind="stable"))
    assert_allclose(probabilities.sum(1), 1, rtol=1e-5)
    moods = predict(bert, TEXT, k=4, output="mood")
    assert_allclose(moods.probabilities, -np.sort(-scores["mood"], axis=1), rtol=1e-5)
    batches = tf.data.Dataset.from_tensor_slices((TEXT, np.zeros(N))).batch(16)
    for data in (batches, {**TEXT, "unused": np.zeros(N)}):
        assert_array_equal(predict(bert, data, k=3, output="kind").classes, classes)


@pytest.mark.slow
def test_a_flatbuffer_keeps_the_names_of_inputs_and_outputs(bert, bert_file):
    network = Flatbuffer(bert_file)
    assert {source.name for source in network.inputs} == set(TEXT)
    assert set(network.outputs) == {"kind", "mood"}
    for output in ("kind", "mood"):
        expected = predict(bert, TEXT, k=3, output=output)
        found = predict(bert_file, TEXT, k=3, output=output, batch_size=16)
        assert_array_equal(found.classes, expected.classes)
        assert_allclose(found.probabilities, expected.probabilities, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("reverse", [False, True], ids=["forwards", "backwards"])
def test_calibration_and_rounding_feed_each_input_its_own_values(reverse):
    """Two inputs of equal shapes and other ranges; a file has its inputs in an order of its own."""
    keras.utils.set_random_seed(2)
    sources = [keras.Input((4,), name=name) for name in ("small", "large")]
    values = [RNG.random((64, 4)).astype("float32"), 100 * RNG.random((64, 4)).astype("float32")]
    if reverse:
        sources, values = sources[::-1], values[::-1]
    x = keras.layers.Concatenate()(sources)
    model = keras.Model(sources, keras.layers.Dense(3, name="scores")(x))
    data = tuple(values)
    conversions = Conversions(model, representative=data)
    own, _ = conversions.calibrated({})
    feeds = conversions.feeds()
    ranges = own.clipped(99, own.histograms(feeds))._ranges()
    for index, source in own.network().sources():
        expected = np.percentile(values[("large" in source.name) != reverse], [1, 99])
        assert_allclose(np.ravel(ranges[index]), expected, atol=0.01 * max(expected))
    expected = np.asarray(model(values))
    found = Flatbuffer(quantize(model, "int4", representative=data))(data)
    assert np.abs(found - expected).mean() < 0.1 * np.abs(expected).mean()


def test_inputs_by_position_and_outputs_by_layer():
    model, data = two_towers(), (RNG.random((9, 4), "f4"), RNG.random((9, 2), "f4"))
    expected = np.asarray(model([*data])[1]).argmax(1)
    for tested in (model, quantize(model, "float32")):
        for given in (data, {"right": data[1], "left": data[0]}):
            assert_array_equal(predict(tested, given, output="second").classes[:, 0], expected)


@pytest.fixture(scope="module")
def pair():
    """A model of two alike inputs and outputs, its answers, and a file with other names of outputs, inputs sorted."""
    keras.utils.set_random_seed(3)
    sources = {name: keras.Input((4,), name=name) for name in ("query", "doc")}
    x = keras.layers.Concatenate()(list(sources.values()))
    scores = [keras.layers.Dense(3, name=name)(x) for name in ("kind", "mood")]
    model = keras.Model(list(sources.values()), scores)
    other = keras.Model(sources, {"output_0": scores[0], "output_1": scores[1]})
    values = tuple(RNG.normal(size=(2, 50, 4)).astype("float32"))
    return model, quantize(other, "float32"), values, np.asarray(model(list(values))[1]).argmax(1)


OUTPUTS = {"baseline": "mood", "file": "output_1"}


@pytest.mark.parametrize(
    ("form", "output"),
    [
        (tuple, ("mood", "output_1")),
        (list, OUTPUTS),
        (lambda values: dict(zip(["query", "doc"], values, strict=True)), OUTPUTS),
    ],
)
def test_a_file_takes_the_inputs_of_the_baseline_by_name(pair, form, output):
    """Converters sort inputs (tensorflow/tensorflow#57693): a tuple in the model's order agreed on 38 %."""
    model, file, values, answers = pair
    compared = compare_models(model, {"file": file}, (form(values), answers), output=output)
    assert compared["file"].overall.accuracy_after == 1


def test_what_proves_no_order_of_inputs_is_asked_for(pair):
    model, file, values, answers = pair
    expected = "expected a dictionary of the inputs doc, query"
    assert_refused(
        f"images: got a tuple for a model that.*{expected}",
        predict,
        file,
        values,
        output="output_1",
    )
    assert_refused(
        f"baseline: images: got a tuple for .*{expected}",
        compare_models,
        file,
        {"keras": model},
        (values, answers),
        output=("output_1", "mood"),
    )
    for output, words in (
        (["mood"] * 3, "output: got 3 names, expected 1 for all, 2 for the first and all others"),
        ({"dense": "mood"}, "output: got a name for dense, expected one of baseline, file"),
        ("mood", "file: output: got 'mood' for a flatbuffer, expected one of output_0, output_1"),
    ):
        assert_refused(
            words, compare_models, model, {"file": file}, (values, answers), output=output
        )


class Chain(keras.Model):
    """A subclassed model: layers one after the other, and nothing that tells the types of inputs."""

    def __init__(self, *chain):
        super().__init__()
        self.chain = chain

    def call(self, inputs):
        for layer in self.chain:
            inputs = layer(inputs)
        return inputs


def pooled_tokens(*first):
    last = keras.layers.Dense(4, kernel_initializer="random_normal")
    return Chain(*first, keras.layers.Embedding(97, 8), keras.layers.GlobalAveragePooling1D(), last)


IDS = RNG.integers(2**24, 2**40, (60, 5))
WORDS_OF_TEXT = np.array([*"abcdef"])[RNG.integers(0, 6, (60, 5))]


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (pooled_tokens(keras.layers.Lambda(lambda ids: ids % 97)), IDS),
        (pooled_tokens(keras.layers.Hashing(97)), IDS),
        (pooled_tokens(keras.layers.StringLookup(vocabulary=[*"abcdef"])), WORDS_OF_TEXT),
        (pooled_tokens(), (IDS % 97).astype("uint8")),
    ],
)
def test_subclassed_models_take_integers_and_text_of_any_length(model, values):
    """As float32, ids above 2**24 are rounded: only 26 to 38 % of the predictions agreed with Keras."""
    model(tf.constant(values[:1]))
    for data in (values, values[:, :3]):
        expected = np.asarray(model(tf.constant(data))).argmax(1)
        assert_array_equal(predict(model, data, k=1).classes[:, 0], expected)


def test_a_file_takes_the_integers_that_its_subclassed_model_takes():
    model = pooled_tokens(keras.layers.Lambda(lambda ids: ids % 97))
    expected = np.asarray(model(IDS)).argmax(1)
    content = quantize(model, "float32", representative=IDS)
    assert Flatbuffer(content).inputs[0].dtype == np.int64
    assert_array_equal(predict(content, IDS, k=1).classes[:, 0], expected)
    assert_refused("representative: got None for the subclassed model", quantize, model, "float32")
    convolution = Chain(keras.layers.Conv2D(2, 3), keras.layers.Flatten(), keras.layers.Dense(3))
    images = RNG.integers(0, 256, (8, 5, 5, 1))
    expected = np.asarray(convolution(images.astype("float32"))).argmax(1)
    assert_array_equal(predict(convolution, images, k=1).classes[:, 0], expected)
    [calibrating] = Conversions(convolution, representative=images).images
    assert calibrating.dtype == np.float32  # it takes no integers


@pytest.mark.parametrize(
    ("model", "values", "words"),
    [
        (
            Chain(keras.layers.Dense(3)),
            np.ones((4, 7)),
            r"float32 \(N, 7\), which .* cannot take \(",
        ),
        (
            Chain(keras.layers.Dense(3)),
            np.full((4, 5), "a"),
            r"text \(N, 5\), which .* cannot take",
        ),
        (pooled_tokens(), IDS, "which .* cannot take"),
        (
            keras.Sequential([keras.Input((5,), dtype="int32"), *pooled_tokens().chain]),
            IDS,
            r"numbers from \d+ to \d+, expected numbers that int32 holds",
        ),
    ],
)
def test_what_a_model_cannot_take_is_one_line(model, values, words):
    model(np.ones((1, 5)))
    assert_refused(f"images: got .*{words}", predict, model, values)


def test_text_as_it_is():
    words = keras.layers.TextVectorization(
        output_sequence_length=4, vocabulary=["good", "bad", "film"], name="words"
    )
    inputs = keras.Input((), dtype="string")
    pooled = keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(5, 3)(words(inputs)))
    model = keras.Model(inputs, keras.layers.Dense(2)(pooled))
    sentences = np.array(["good film", "bad film", "bad"])
    expected = np.asarray(model(tf.constant(sentences))).argmax(1)
    assert_array_equal(predict(model, sentences).classes[:, 0], expected)
    assert_refused("images: got type float64, expected text", predict, model, np.zeros(3))
    layer = (
        r"model: got the layer 'words' \(TextVectorization\), which TensorFlow Lite cannot convert"
    )
    assert_refused(layer, quantize, model, "float16")


TOKENS = TEXT["token_ids"]


@pytest.mark.parametrize(
    ("data", "output", "words"),
    [
        (
            {"token_ids": TOKENS},
            "kind",
            "images: got inputs token_ids, expected inputs padding_mask, segment_i",
        ),
        (
            TEXT | {"token_ids": TOKENS[:3]},
            "kind",
            "images: got .*3, 40.*, expected inputs of one length",
        ),
        (
            TEXT | {"token_ids": TOKENS / 2},
            "kind",
            "images, token_ids: got type float64, expected int32",
        ),
        (TEXT, None, "output: got none for .*, which has several, expected one of kind, mood"),
        (TEXT, "age", "output: got 'age' for .*, expected one of kind, mood"),
    ],
)
def test_inputs_and_outputs_that_do_not_fit(bert, bert_file, data, output, words):
    assert_refused(words, predict, bert, data, output=output)
    beginning = words.split(" for .*")[0].split(", expected")[0]
    assert_refused(beginning, predict, bert_file, data, output=output)


def recurrent(layer, *, unroll=False, batch=None):
    keras.utils.set_random_seed(0)
    inputs = keras.Input((5,), dtype="int32", batch_size=batch)
    x = layer(4, name="memory", unroll=unroll)(keras.layers.Embedding(12, 3)(inputs))
    return keras.Model(inputs, keras.layers.Dense(3)(x))


@pytest.mark.slow
@pytest.mark.parametrize("layer", first_and_nightly([keras.layers.LSTM, keras.layers.GRU]))
def test_recurrent_layers_are_converted_for_batches_of_one(layer):
    """TensorFlow Lite asks for a static batch (TensorListReserve), and crashes on int8 loops."""
    model, tokens = recurrent(layer), RNG.integers(0, 12, (6, 5))
    expected = predict(model, tokens, k=3)
    for kind in ("float32", "dynamic_range"):
        content = quantize(model, kind)
        assert Flatbuffer(content).batch == 1
        assert_array_equal(predict(content, tokens, k=3).classes, expected.classes)
    assert_refused(
        r"model: got the recurrent layers memory for kind 'int8', .* expected unroll=True",
        quantize,
        model,
        "int8",
        representative=tokens,
    )
    assert_refused(
        r"model: got the embeddings or .* for kind 'int16x8', .*'int8'",
        quantize,
        recurrent(layer, unroll=True),
        "int16x8",
        representative=tokens,
    )
    content = quantize(recurrent(layer, unroll=True), "int8", representative=tokens)
    assert Flatbuffer(content).batch is None
    assert (predict(content, tokens).classes[:, 0] == expected.classes[:, 0]).mean() > 0.6


@pytest.mark.slow
def test_costs_draw_tokens_that_every_table_has(bert, bert_file):
    """A token beyond a table of two rows is an error of TensorFlow, and of LiteRT."""
    assert counts(bert).flops > 0
    assert counts(two_towers()).flops == 2 * (4 * 3 + 5 * 3 + 5 * 5)
    files = {"bert": bert, "file": bert_file, "lstm": recurrent(keras.layers.LSTM)}
    assert latencies(files, batches=[1], repeats=1)["latency_ms"].notna().all()


@pytest.mark.slow
def test_gradients_over_dictionaries(bert):
    model = keras.Model(bert.inputs, bert.outputs[0])
    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    weights = model.get_weights()
    pair = tuple(TEXT[name] for name in sorted(TEXT)), RNG.integers(0, 3, N)
    for data in (pair, tf.data.Dataset.from_tensor_slices(pair).batch(13)):
        masks = prune(model, 0.5, method="gradient", gradient_data=data)
        assert masks.keys() == prune(keras.models.clone_model(model), 0.0).keys()
        for name, mask in masks.items():
            assert mask.mean() == pytest.approx(0.5, abs=0.1), name
        model.set_weights(weights)  # they are those of the fixture


@pytest.mark.slow
def test_what_an_int8_model_was_not_calibrated_for():
    """Calibrated with pixels in [0, 1], it takes those in 0 to 255 for white: 0 % agreement, without a word."""
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Flatten(), keras.layers.Dense(16, "relu"), keras.layers.Dense(4)]
    model = stack((6, 6, 1), *layers)
    scaled = stack((6, 6, 1), keras.layers.Rescaling(1 / 255), *layers)
    pixels = RNG.integers(0, 256, (60, 6, 6, 1)).astype("uint8")
    unit, floats = pixels / 255, pixels.astype("float32")
    content, wide = (quantize(model, "int8", representative=each) for each in (unit, floats))
    for images, words in (
        (unit, "0 to .*, expected a wider"),
        (255 * floats, "0 to 65025, expected a narrower"),
    ):
        assert_refused(
            f"got values from {words} range", quantize, scaled, "int8", representative=images
        )
    # sorted by brightness, the first ones alone are in a sliver of the range
    order = np.concatenate([pixels[:30] // 60, pixels[30:]])
    is_white, is_wide = r"0 to (1|0.99\d*), the range of the", "-?0 to 255, the range of th"
    for file, images, words in (
        (content, pixels, f"0 to 255, expected {is_white}"),
        *(
            (wide, each, f".*, expected {is_wide}")
            for each in (unit, 2 * unit - 1, (floats - 128) / 60)
        ),
        (wide, order[:30], f"0 to 4, expected {is_wide}"),
        (wide, iter(np.split(unit, 6)), f"0 to 1, expected {is_wide}"),
    ):
        assert_refused(f"got values from {words}", predict, file, images)
    predict(content, unit)
    # one image may be all but constant
    for images in (
        pixels,
        np.eye(6).reshape(1, 6, 6, 1) + 7,
        order,
        np.split(order, 6),
        iter(np.split(order, 6)),
    ):
        predict(wide, images)
    predict(quantize(scaled, "int8", representative=pixels), pixels)
    outliers = np.where(np.arange(60) < 3, 1000, 1)[:, None, None, None] * unit
    one_by_one, unchecked = (
        predict(content, outliers, batch_size=1),
        predict(content, outliers, check_range=False),
    )
    assert_array_equal(one_by_one.probabilities, unchecked.probabilities)
    # the first image is one of them
    predictions_of({"int8": content}, (outliers, np.arange(60) % 4))


def test_a_regression_is_no_classifier():
    model, data = stack((3,), keras.layers.Dense(1)), RNG.normal(size=(20, 3))
    unknown = (
        "model: got one output without a sigmoid, which may be a regression, expected scores_are"
    )
    for form in (model, quantize(model, "float32")):
        assert_refused(unknown, predict, form, data)
    expected = (np.asarray(model(data)) > 0)[:, 0]
    assert_array_equal(predict(model, data, scores_are="logits").classes[:, 0], expected)
    for loss in (
        "mse",
        "mean_absolute_error",
        keras.losses.Huber(),
        keras.losses.MeanSquaredError(),
    ):
        model.compile(loss=loss)
        assert_refused(
            "model: got a regression: its loss compares numbers, expected a cl",
            predict,
            model,
            data,
        )
    for loss in ("binary_crossentropy", keras.losses.BinaryCrossentropy(from_logits=True)):
        model.compile(loss=loss)
        assert_array_equal(predict(model, data).classes[:, 0], expected)


def test_a_column_may_be_given_without_its_side_of_one_as_keras_takes_it():
    sources = {
        name: keras.Input((side,), name=name) for name, side in (("first", 2), ("second", 1))
    }
    model = keras.Model(sources, keras.layers.Dense(3)(keras.ops.hstack([*sources.values()])))
    values = {"first": RNG.normal(size=(9, 2)), "second": RNG.normal(size=9)}
    expected = model.predict(values, verbose=0).argmax(1)
    for form in (model, quantize(model, "float32")):
        assert_array_equal(predict(form, values).classes[:, 0], expected)


@pytest.mark.slow
def test_the_size_of_an_open_side_comes_from_images():
    class Positions(keras.layers.Layer):
        """Knows ten positions, as the tables of transformers do."""

        def build(self, shape):
            self.table = self.add_weight(shape=(10, shape[-1]), name="table")

        def call(self, x):
            return x + keras.ops.slice(self.table, (0, 0), (keras.ops.shape(x)[1], 4))

    pooled = keras.layers.GlobalAveragePooling1D()
    tokens = keras.Input((None,), dtype="int32", name="tokens")
    x = pooled(Positions()(keras.layers.Embedding(WORDS, 4)(tokens)))
    model = keras.Model(tokens, keras.layers.Dense(3)(x))
    told = "got None, and '.*' takes no inputs of 64 along an open side, expected inputs of a size that the model takes"
    assert_refused(f"^images: {told}", as_flatbuffer, model)
    assert_refused(f"^representative: {told}", quantize, model, "float16")
    assert len(as_flatbuffer(model, TEXT["token_ids"])) > 500
