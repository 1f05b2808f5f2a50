"""ClassAudit inside real fits: what the other callbacks see, and that training does not notice it."""

import csv
import os
import subprocess
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from tests.builders.equality import assert_all_close
from tests.builders.nightly import first_and_nightly
from tfaudit.callbacks import ClassAudit
from tfaudit.compress.litert.inference import predict
from tfaudit.compress.litert.quantize import quantize
from tfaudit.errors import InputError, Notice
from tfaudit.predictions import Predictions

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 3, 90)
IMAGES = RNG.random((90, 6, 6, 1), np.float32) + LABELS[:, None, None, None] / 4
VALIDATION = (IMAGES[60:], LABELS[60:])


def net(policy="float32", **compiled):
    keras.utils.set_random_seed(5)
    model = keras.Sequential(
        [
            keras.Input((6, 6, 1)),
            layers.Conv2D(4, 3, dtype=policy),
            layers.BatchNormalization(momentum=0.5, dtype=policy),
            layers.Dropout(0.3, dtype=policy),
            layers.Flatten(dtype=policy),
            layers.Dense(3, dtype="float32"),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.05), loss, metrics=["accuracy"], **compiled)
    return model


def fit(model, *callbacks, epochs=3):
    return model.fit(
        IMAGES[:60], LABELS[:60], 16, epochs, verbose=0, callbacks=list(callbacks)
    ).history


def top1(model):
    return predict(model, VALIDATION[0])[0][:, 0]


@pytest.mark.slow
def test_logs_and_history_say_what_the_weights_of_each_epoch_say():
    model = net()
    baseline = top1(model)
    audit = ClassAudit(VALIDATION, baseline=model)
    answers = []
    watch = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: answers.append(top1(model))
    )
    history = fit(model, audit, watch)
    assert history["val_flips"] == [(a != baseline).sum() for a in answers]
    right = baseline == VALIDATION[1]
    assert history["val_negative_flips"] == [(right & (a != baseline)).sum() for a in answers]
    recalls = np.array([[(a == c)[VALIDATION[1] == c].mean() for c in range(3)] for a in answers])
    assert history["val_worst_class_recall"] == pytest.approx(recalls.min(axis=1))
    assert len(history["val_intensification"]) == 3
    assert history["val_flips"][-1] > 0

    frame = audit.history_frame()
    assert list(frame.columns) == ["epoch", "class", "class_name", "recall", "support"]
    np.testing.assert_allclose(
        frame.pivot(index="epoch", columns="class", values="recall"), recalls
    )
    np.testing.assert_array_equal(frame["support"][:3], np.bincount(VALIDATION[1]))


@pytest.mark.slow
def test_later_callbacks_see_the_values(tmp_path):
    stop = keras.callbacks.EarlyStopping(monitor="val_worst_class_recall", mode="max", patience=1)
    log = keras.callbacks.CSVLogger(tmp_path / "log.csv")
    history = fit(net(), ClassAudit(VALIDATION, baseline=LABELS[60:]), stop, log, epochs=20)
    recalls = history["val_worst_class_recall"]
    assert len(recalls) < 20
    assert len(recalls) == 1 + next(i for i in range(1, 20) if recalls[i] <= max(recalls[:i]))
    with (tmp_path / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["val_worst_class_recall"]) for row in rows] == recalls
    assert [float(row["val_flips"]) for row in rows] == history["val_flips"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    first_and_nightly([{"steps_per_execution": 2}, {"policy": "mixed_float16"}, {}]),
)
def test_training_does_not_notice(settings):
    def weights(*make):
        model = net(**settings)
        history = fit(model, *(callback(model) for callback in make))
        return history["loss"], [w.tobytes() for w in model.get_weights()]

    assert weights() == weights(lambda model: ClassAudit(VALIDATION, baseline=model))


@pytest.mark.slow
def test_the_baseline_is_asked_once_and_may_be_the_trained_model():
    model = net()
    before = top1(model)
    audit = ClassAudit(VALIDATION, baseline=model)
    fit(model, audit, epochs=2)
    history = fit(model, audit, epochs=1)  # a second fit: still against the model as it was
    assert history["val_flips"] == [(top1(model) != before).sum()]
    assert set(audit.history_frame()["epoch"]) == {0}


@pytest.mark.slow
def test_every_form_of_baseline_gives_the_same(tmp_path):
    model = net()
    (tmp_path / "model.tflite").write_bytes(quantize(model, "float32"))
    forms = [
        model,
        quantize(model, "float32"),
        tmp_path / "model.tflite",
        top1(model),
        Predictions.from_top1(VALIDATION[1], np.stack([top1(model)] * 3)),
    ]
    audits = [ClassAudit(VALIDATION, baseline=form) for form in forms]
    rows = []
    for audit in audits:
        audit.set_model(net())
        audit.model.set_weights([w * 0.5 - 0.1 for w in model.get_weights()])
        rows.append(logs := {})
        audit.on_epoch_end(0, logs)
    assert rows[0]["val_flips"] > 0
    assert all(row == rows[0] for row in rows)


def test_every_form_of_validation_gives_the_same():
    class Named:
        class_names = ("cat", "dog", "emu")

        def batches(self, batch_size):
            return tf.data.Dataset.from_tensor_slices(VALIDATION).batch(batch_size)

    model = net()
    one_hot = (VALIDATION[0], keras.utils.to_categorical(VALIDATION[1]))
    column = (VALIDATION[0], VALIDATION[1][:, None].astype(np.float32))
    triple = (*VALIDATION, np.linspace(0, 1, 30))
    weighted = tf.data.Dataset.from_tensor_slices(triple).batch(8)
    recalls = []
    lists = [[*batch] for batch in Named().batches(8)]
    none = (*VALIDATION, None)
    unweighted = (VALIDATION, one_hot, column, Named(), Named().batches(9), lists, none)
    for validation in (*unweighted, triple, weighted, [*weighted]):
        with warnings.catch_warnings(record=True, action="always", category=Notice) as caught:
            audit = ClassAudit(validation, batch_size=11)
        told = [str(warning.message) for warning in caught]
        unused = "validation: Sample weights are for training; in tests every example counts once."
        assert told == [unused] * (len(recalls) >= len(unweighted))
        audit.set_model(model)
        audit.on_epoch_end(0, logs := {})
        assert set(logs) == {"val_worst_class_recall"}
        recalls.append(audit.history_frame()["recall"][:3].tolist())
        if isinstance(validation, Named):
            assert audit.history_frame()["class_name"].tolist() == list(Named.class_names)
    assert all(recall == recalls[0] for recall in recalls)


@pytest.mark.slow
def test_under_mirrored_strategy(warm_python):
    program = """
import keras, numpy as np, tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from tfaudit.callbacks import ClassAudit
x, y = np.random.default_rng(0).random((32, 4), "float32"), np.arange(32) % 2
keras.utils.set_random_seed(0)
with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
    model = keras.Sequential([keras.Input((4,)), keras.layers.BatchNormalization(), keras.layers.Dense(2)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
audit = ClassAudit((x, y), baseline=model)
history = model.fit(x, y, batch_size=8, epochs=2, verbose=0, callbacks=[audit]).history
answers = model.predict(x, verbose=0).argmax(1)
worst = min((answers == y)[y == c].mean() for c in (0, 1))
assert abs(history["val_worst_class_recall"][-1] - worst) < 1e-9, (history, worst)
print("done")
"""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    run = subprocess.run(
        [*warm_python, "-c", program], capture_output=True, text=True, check=False, env=environment
    )
    assert run.stdout.endswith("done\n"), run.stderr


FEATURES = np.random.default_rng(0).normal(size=(30, 6)).astype("float32")
TAGS = (np.random.default_rng(1).random((30, 3)) < 0.4).astype("float32")


def shuffled():
    data = tf.data.Dataset.from_tensor_slices(VALIDATION).shuffle(
        30, seed=1, reshuffle_each_iteration=True
    )
    return data.batch(10)


@pytest.mark.parametrize(
    ("validation", "settings", "message"),
    [
        (
            shuffled,
            {"baseline": "model"},
            "validation: got a different order or length in each pass",
        ),
        (lambda: (IMAGES, LABELS[:5]), {}, "validation: got 90 images and 5 labels"),
        (lambda: (IMAGES,), {}, "validation: got 1 parts, expected"),
        (lambda: (IMAGES, LABELS, LABELS, LABELS), {}, "validation: got 4 parts, expected"),
        (lambda: (*VALIDATION, np.ones(9)), {}, "got 30 images and 30 labels and 9 weights"),
        (
            lambda: (IMAGES, (LABELS, LABELS % 2)),
            {"output": "b"},
            "got labels of several outputs without their names, expected a dictionary of them",
        ),
        (lambda: iter([VALIDATION]), {}, "validation: got list_iterator, expected"),
        (
            lambda: tf.data.Dataset.from_tensor_slices(IMAGES).batch(9),
            {},
            "validation: got a batch without labels",
        ),
        (lambda: (IMAGES, LABELS + 0.5), {}, "validation: got labels of type float64"),
        (lambda: (IMAGES, -LABELS), {}, "validation: got labels of type int64"),
        (lambda: [], {}, "validation: got no batches"),
        (lambda: (FEATURES, TAGS), {}, "with 0 to 3 classes per example, expected classes"),
        (lambda: (FEATURES, TAGS / 2), {}, "and other values than 0 and 1, expected classes"),
        (
            lambda: (FEATURES, FEATURES[:, 0]),
            {},
            "that are not whole numbers from 0, expected classes",
        ),
        (
            lambda: (FEATURES, np.array(["cat", "dog", "cow"] * 10)),
            {},
            r"labels of type <U3 and shape \(30,\), expected classes 0, 1",
        ),
        (
            lambda: VALIDATION,
            {"baseline": LABELS},
            r"baseline: got ndarray of type int64 and shape \(90,\), expected",
        ),
        (
            lambda: VALIDATION,
            {"baseline": Predictions.from_top1(LABELS, LABELS)},
            "baseline: got labels that differ from those in validation",
        ),
        (lambda: VALIDATION, {"batch_size": 0}, "batch_size: got 0"),
    ],
)
def test_bad_input_gets_one_line(validation, settings, message):
    if isinstance(settings.get("baseline"), str):
        settings = {"baseline": net()}
    with pytest.raises(InputError, match=message):
        ClassAudit(validation(), **settings)


def several(units=3, *, loss="categorical_crossentropy"):
    inputs = keras.Input((6,))
    model = keras.Model(inputs, keras.layers.Dense(units)(inputs))
    model.compile("sgd", loss)
    return model


def test_other_numbers_of_classes_are_refused_before_training():
    model, classes = several(3, loss="sparse_categorical_crossentropy"), np.arange(30) % 4
    before = model.get_weights()
    with pytest.raises(
        InputError,
        match="validation: got class 3, expected classes 0 to 2, as the model has 3 outputs",
    ):
        model.fit(FEATURES, classes % 3, verbose=0, callbacks=[ClassAudit((FEATURES, classes))])
    assert_all_close(before, model.get_weights())
    other = several(5)
    with pytest.raises(InputError, match="baseline: got 5 classes, expected 3, as the model has"):
        model.fit(
            FEATURES,
            classes % 3,
            verbose=0,
            callbacks=[ClassAudit((FEATURES, classes % 3), baseline=other)],
        )
    regression = several(1, loss="mse")
    with pytest.raises(InputError, match="model: got a regression"):
        regression.fit(
            FEATURES, FEATURES[:, 0], verbose=0, callbacks=[ClassAudit((FEATURES, classes % 2))]
        )


@pytest.mark.slow
def test_one_output_of_several_from_a_dictionary_of_inputs():
    left, right = keras.Input((4,), name="left"), keras.Input((2,), name="right")
    x = keras.layers.Concatenate()([left, right])
    outputs = {"kind": keras.layers.Dense(3)(x), "age": keras.layers.Dense(1)(x)}
    model = keras.Model({"left": left, "right": right}, outputs)
    model.compile(
        "sgd", {"kind": keras.losses.SparseCategoricalCrossentropy(from_logits=True), "age": "mse"}
    )
    inputs, kinds = {"left": FEATURES[:, :4], "right": FEATURES[:, 4:]}, np.arange(30) % 3
    labels = {"kind": kinds, "age": FEATURES[:, 0]}
    audit = ClassAudit((inputs, labels), baseline=model, output="kind")
    batches = tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(7)
    again = ClassAudit(batches, output="kind")
    model.fit(inputs, labels, verbose=0, callbacks=[audit, again])
    answers = keras.ops.convert_to_numpy(model(inputs)["kind"]).argmax(1)
    expected = [(answers[kinds == kind] == kind).mean() for kind in range(3)]
    for one in (audit, again):
        np.testing.assert_allclose(one.history_frame()["recall"], expected)
    with pytest.raises(
        InputError,
        match="validation: got labels of kind, age, expected labels of the output 'size'",
    ):
        ClassAudit((inputs, labels), output="size")
    with pytest.raises(InputError, match=r"output: got 'size' for .*, expected one of kind, age"):
        model.fit(inputs, labels, verbose=0, callbacks=[ClassAudit((inputs, kinds), output="size")])


def test_several_inputs_as_a_tuple_or_a_list():
    sources = [keras.Input((2,), name="right"), keras.Input((4,), name="left")]
    model = keras.Model(sources, keras.layers.Dense(3)(keras.layers.Concatenate()(sources)))
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    inputs, kinds = [FEATURES[:, 4:], FEATURES[:, :4]], np.arange(30) % 3
    forms = [(tuple(inputs), kinds), (inputs, kinds), [((*inputs,), kinds)], [(inputs, kinds)]]
    audits = [ClassAudit(form, baseline=model) for form in forms]
    history = model.fit(inputs, kinds, verbose=0, callbacks=audits).history
    recall = min((predict(model, inputs).classes[kinds == k, 0] == k).mean() for k in range(3))
    for audit in audits:
        assert audit.history_frame()["recall"].min() == history["val_worst_class_recall"][0]
    assert history["val_worst_class_recall"] == [recall]


def test_copies_among_the_validation_examples_are_told():
    images = np.tile(np.arange(12, dtype="float32").reshape(6, 2), (5, 1))
    with pytest.warns(Notice, match="validation: 24 of the 30 examples are exact copies of others"):
        ClassAudit((images, np.arange(30) % 2))
