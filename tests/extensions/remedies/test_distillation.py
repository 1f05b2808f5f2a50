"""Plain and focal distillation against NumPy, one step of SGD at a time."""

import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax, rel_entr, softmax

import tfaudit
from tests.builders.equality import assert_all_close
from tests.builders.refusals import assert_refused
from tests.builders.small_nets import Counted, WithoutInputs
from tests.builders.stacks import stack
from tests.extensions.remedies.nets import CLASSES, HELD_OUT, X, Y, compiled, fit, net
from tfaudit import Distillation

TEACHER = net(7)


def logits(model, x=X[:64]):
    return model.predict(x, verbose=0, batch_size=len(x)).astype(np.float64)


def cross_entropy(student, labels, weights=1.0):
    return -np.mean(weights * log_softmax(student, 1)[np.arange(len(labels)), labels])


def by_hand(
    student, teacher, labels=Y[:64], *, temperature=4.0, weight=1.0, focus=(1, 0), weights=1.0
):
    """The cross-entropy and the definition of the term, from logits, by SciPy."""
    pair = softmax(teacher / temperature, 1), softmax(student / temperature, 1)
    divergence = rel_entr(*pair).sum(axis=1)
    factors = focus[0] + focus[1] * (teacher.argmax(1) == labels)
    term = weight * temperature**2 * np.mean(weights * factors * divergence)
    return cross_entropy(student, labels, weights) + term


def first_loss(model, remedy, **settings):
    """Return the loss that Keras reports of one batch, taken before the weights change."""
    return fit(model, remedy, epochs=1, batch_size=64, **settings).history["loss"][0]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"temperature": 1.0, "weight": 0.5, "focus": (0.5, 2.0)},
        {"temperature": 20.0, "weight": 3.0, "focus": (0.0, 1.0)},
    ],
)
def test_the_loss_is_the_own_one_plus_the_definition(settings):
    model = compiled(net())
    student, teacher = logits(model), logits(TEACHER)
    wanted = by_hand(student, teacher, **settings)
    got = first_loss(model, Distillation(TEACHER, **settings))
    assert_allclose(got, wanted, rtol=1e-5)


@pytest.mark.slow
def test_sample_and_class_weights_multiply_the_term_and_metrics_see_the_users_own():
    weights = np.random.default_rng(1).random(64)
    by_class = {0: 1.0, 1: 2.0, 2: 0.5, 3: 0.0}
    for own, settings in (
        (weights, {"sample_weight": weights}),
        (np.vectorize(by_class.get)(Y[:64]), {"class_weight": by_class}),
    ):
        model = compiled(net(), weighted_metrics=["accuracy"])
        student, teacher = logits(model), logits(TEACHER)
        history = fit(
            model, Distillation(TEACHER, focus=(1, 1)), epochs=1, batch_size=64, **settings
        ).history
        wanted = by_hand(student, teacher, focus=(1, 1), weights=own)
        assert_allclose(history["loss"][0], wanted, rtol=1e-5)
        right = student.argmax(1) == Y[:64]
        assert_allclose(history["accuracy"][0], np.average(right, weights=own), rtol=1e-5)


@pytest.mark.slow
def test_probabilities_and_one_hot_targets_give_the_same_loss():
    plain = first_loss(compiled(net()), Distillation(TEACHER, focus=(1, 2)))
    model, teacher = compiled(net(softmax=True), softmax=True), net(7, softmax=True)
    assert_allclose(first_loss(model, Distillation(teacher, focus=(1, 2))), plain, rtol=1e-4)
    model = compiled(net(), loss=keras.losses.CategoricalCrossentropy(from_logits=True))
    one_hot = np.eye(CLASSES, dtype=np.float32)[Y[:64]]
    assert_allclose(
        first_loss(model, Distillation(TEACHER, focus=(1, 2)), y=one_hot), plain, rtol=1e-5
    )


@pytest.mark.parametrize("probabilities", [False, True])
def test_one_unit_is_a_model_of_two_classes(probabilities):
    def one(seed):
        keras.utils.set_random_seed(seed)
        return stack((6,), keras.layers.Dense(1, activation="sigmoid" if probabilities else None))

    model, labels = one(1), (Y[:64] > 1).astype(int)
    model.compile(
        "sgd", keras.losses.BinaryCrossentropy(from_logits=not probabilities), jit_compile=False
    )
    pair = [
        np.log(p / (1 - p)) if probabilities else p
        for p in (logits(model)[:, 0], logits(one(2))[:, 0])
    ]
    student, teacher = (np.stack([np.zeros(64), values], axis=1) for values in pair)
    wanted = by_hand(student, teacher, labels, focus=(0.5, 2))
    got = first_loss(model, Distillation(one(2), focus=(0.5, 2)), y=labels)
    assert_allclose(got, wanted, rtol=1e-4)


def test_gradients_are_those_of_the_definition():
    """One step of plain SGD moves the bias of the logits by the mean of `tau w (q_i - p_i)` and the own gradient."""
    model = compiled(net(), optimizer=keras.optimizers.SGD(1.0))
    student, teacher, tau = logits(model), logits(TEACHER), 3.0
    before = model.get_layer("logits").bias.numpy()
    fit(model, Distillation(TEACHER, temperature=tau, weight=2.0), epochs=1, batch_size=64)
    own = softmax(student, 1) - np.eye(CLASSES)[Y[:64]]
    drawn = 2.0 * tau * (softmax(student / tau, 1) - softmax(teacher / tau, 1))
    assert_allclose(
        before - model.get_layer("logits").bias.numpy(), (own + drawn).mean(0), atol=1e-6
    )


@pytest.mark.slow
def test_the_teacher_may_be_the_model_before_it_is_pruned_and_is_never_trained():
    model = compiled(net())
    teacher = logits(model)
    remedy = Distillation(model, weight=5.0)
    tfaudit.prune(model, 0.5)
    student = logits(model)
    wanted = by_hand(student, teacher, weight=5.0)
    assert_allclose(first_loss(model, remedy), wanted, rtol=1e-5)
    weights = [weight.copy() for weight in TEACHER.get_weights()]
    fit(compiled(net()), Distillation(TEACHER))
    assert_all_close(weights, TEACHER.get_weights())


@pytest.mark.slow
def test_another_teacher_is_used_without_a_new_trace():
    model, remedy = compiled(net(cls=Counted)), Distillation(TEACHER)
    fit(model, remedy, epochs=1, batch_size=64)
    once, start = model.traces, net().get_weights()
    model.set_weights(start)
    remedy.teacher = net(9)
    got = first_loss(model, remedy)
    assert model.traces == once
    model.set_weights(start)
    student = logits(model)
    assert_allclose(got, by_hand(student, logits(net(9))), rtol=1e-5)


def augmenting(copies, seed=1):
    """A net whose first layers change images at random, or not."""
    keras.utils.set_random_seed(seed)
    inputs = x = keras.Input((6, 1, 1))
    if copies:
        x = keras.layers.RandomBrightness(1.0, value_range=(-1.0, 1.0), seed=3)(x)
    return keras.Model(
        inputs, keras.layers.Dense(CLASSES, name="logits")(keras.layers.Flatten()(x))
    )


@pytest.mark.slow
@pytest.mark.parametrize("in_teacher", [False, True])
def test_the_teacher_sees_what_random_layers_of_the_model_made_of_the_batch(in_teacher):
    """A model with the teacher's weights has no divergence, however its inputs are changed."""
    model, teacher = compiled(augmenting(True)), augmenting(in_teacher)
    images = X[:64].clip(-1, 1).reshape(64, 6, 1, 1)
    twin = compiled(augmenting(True))
    plain = fit(twin, x=images, epochs=1, batch_size=64).history["loss"][0]
    assert_allclose(
        first_loss(model, Distillation(teacher, weight=50.0), x=images), plain, rtol=1e-5
    )
    assert "call" not in vars(model.layers[1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Distillation(b"TFL3"), "teacher: got a flatbuffer, expected a Keras 3 model"),
        (
            lambda: Distillation(TEACHER, focus=(1, -1)),
            r"focus: got \(1, -1\), expected \(alpha, beta\)",
        ),
    ],
)
def test_settings_that_are_refused(make, message):
    assert_refused(message, make)


def other_width():
    return stack((6,), keras.layers.Dense(3))


def of_unknown_scores():
    inputs = keras.Input((6,))
    return keras.Model(inputs, keras.ops.relu(keras.layers.Dense(CLASSES)(inputs)))


def two_outputs():
    inputs = keras.Input((6,))
    heads = {name: keras.layers.Dense(2, name=name)(inputs) for name in "ab"}
    return keras.Model(inputs, heads)


@pytest.mark.parametrize(
    ("model", "teacher", "message"),
    [
        (lambda: compiled(net()), other_width, "teacher: got 3 classes, expected 4, as '.*' has"),
        (
            lambda: compiled(net()),
            of_unknown_scores,
            "from_logits: got '.*', whose last layer does not show",
        ),
        (
            lambda: compiled(net()),
            two_outputs,
            "teacher: got '.*' with outputs a, b, expected one output",
        ),
        (
            lambda: compiled(net(cls=WithoutInputs)),
            lambda: TEACHER,
            "model: got '.*', whose train_step calls compute_loss without the inputs",
        ),
        (lambda: compiled(augmenting(True)), lambda: augmenting(True), None),
    ],
)
def test_models_that_are_refused_are_not_changed(model, teacher, message):
    if message is None:  # random layers of other kinds
        message = "teacher: got a teacher with RandomFlip for a model with RandomBrightness"
        flipping = [
            keras.Input((6, 1, 1)),
            keras.layers.RandomFlip(),
            keras.layers.Flatten(),
            keras.layers.Dense(4),
        ]
        model, teacher, images = model(), keras.Sequential(flipping), X[:64].reshape(64, 6, 1, 1)
    else:
        model, images = model(), X[:64]
        teacher = teacher()
    before = model.get_weights()
    assert_refused(message, lambda: fit(model, Distillation(teacher), x=images))
    assert_all_close(before, model.get_weights())


def test_losses_of_validation_do_not_contain_the_term():
    model = compiled(net())
    history = fit(
        model, Distillation(TEACHER, weight=100.0), validation_data=HELD_OUT, epochs=1
    ).history
    assert_allclose(
        history["val_loss"][0], cross_entropy(logits(model, HELD_OUT[0]), HELD_OUT[1]), rtol=1e-5
    )
