"""Training: bits from the seed alone, learning rates, decay, exact steps, the best epoch, pruning that arrives."""

import dataclasses
from unittest.mock import Mock

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tests.builders.nightly import first_and_nightly
from tests.builders.refusals import assert_refused
from tests.builders.small_nets import assert_same_weights
from tests.builders.small_stores import small_study
from tfaudit import Pruned, Training, load_dataset
from tfaudit.compress.counts import counts
from tfaudit.datasets.validation import split_validation
from tfaudit.errors import Notice
from tfaudit.population import training
from tfaudit.population.member import gradual_trainer, pruning_schedule
from tfaudit.population.training import LearningRate, Trainer
from tfaudit.study.variants import Dense

DATA = load_dataset("digits", "train").take(150)
STUDY = small_study(
    training=Training(epochs=2, batch_size=64),
    variants=(Pruned(0.7), Pruned(0.7, scope="global")),
    model_options={"filters": [4], "units": 8},
)


def trainer(variant=None, **training):
    study = dataclasses.replace(STUDY, training=dataclasses.replace(STUDY.training, **training))
    if isinstance(variant, Pruned):
        return gradual_trainer(study, variant, DATA)
    return Trainer(study, study.training, DATA)


def trained(one, seed):
    model = one.build(seed)
    return model, one.train(model, seed)


def test_weights_of_examples_multiply_their_losses():
    """Twice the loss at half the rate is the same step."""
    doubled = dataclasses.replace(DATA, weights=np.full(150, 2, np.float32))
    plan = Training(steps=1, batch_size=150, micro_batch=50)
    made = []
    for data, rate in ((DATA, 0.02), (doubled, 0.01)):
        settings = dataclasses.replace(plan, learning_rate=rate)
        made.append(trained(Trainer(STUDY, settings, data), 1)[0])
    assert_same_weights(*made)


@pytest.mark.slow
@pytest.mark.parametrize(
    "variant",
    first_and_nightly([Pruned(0.7), Dense(), Pruned(0.7, scope="global")]),
    ids=lambda v: v.key,
)
def test_a_member_depends_on_its_seed_alone_and_not_on_those_before_it(variant):
    used = trainer(variant)
    trained(used, 1)
    after_another, history = trained(used, 2)
    fresh, same_history = trained(trainer(variant), 2)
    assert_same_weights(after_another, fresh)
    assert history.equals(same_history)
    other, _ = trained(used, 3)
    with pytest.raises(AssertionError):
        assert_same_weights(fresh, other)


@pytest.mark.slow
@pytest.mark.parametrize("smoothing", first_and_nightly([0.1, 0.0]))
def test_the_step_is_traced_once_for_all_members(monkeypatch, smoothing):
    """TensorFlow repeats a trace that makes variables, as metrics by name do."""
    one = trainer(Pruned(0.5), label_smoothing=smoothing)
    step = Mock(wraps=one.model.train_step)
    monkeypatch.setattr(one.model, "train_step", step)
    for seed in (1, 2, 3):
        trained(one, seed)
    step.assert_called_once()


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 3, 7])
def test_steps_are_exact(steps):
    one = trainer(epochs=None, steps=steps)
    _, history = trained(one, 0)
    assert int(one.model.optimizer.iterations.numpy()) == steps
    assert len(history) == -(-steps // 3)  # 150 examples are 3 batches of 64


@pytest.mark.slow
@pytest.mark.parametrize("variant", first_and_nightly([Pruned(0.7), Dense()]), ids=lambda v: v.key)
def test_steps_of_a_small_net_are_made_together_and_give_the_same_weights(variant):
    settings = {"epochs": 12, "batch_size": 10, "validation": 0.2, "keep": "best"}
    together, single = (
        trainer(variant, steps_per_execution=number, **settings) for number in (None, 1)
    )
    (a, history), (b, same_history) = trained(together, 3), trained(single, 3)
    assert together.model.steps_per_execution == 12  # 144 steps of 120 examples
    assert_same_weights(a, b)
    assert history.equals(same_history)


@pytest.mark.parametrize(
    ("training", "study", "number"),
    [
        ({"epochs": 100}, {}, 3),
        ({"epochs": None, "steps": 100}, {}, 1),  # what divides epoch and training
        ({"epochs": 1000, "batch_size": 150}, {}, 1),
        ({"epochs": 33}, {}, 1),  # 99 steps
        ({"epochs": 100, "batch_size": 1}, {}, 50),
        ({"epochs": 100, "batch_size": 1, "steps_per_execution": 75}, {}, 75),
        (
            {"epochs": 100, "batch_size": 1},
            {"variants": (Pruned(0.5, treatment="rewind", rewind_to=40),)},
            10,
        ),
    ],
)
def test_as_many_steps_together_as_divide_all_and_take_little_time(training, study, number):
    study = dataclasses.replace(
        STUDY, training=dataclasses.replace(STUDY.training, **training), **study
    )
    one = Trainer(study, study.training, DATA)
    one._execute_together([])
    assert one.model.steps_per_execution == number


def test_steps_that_take_long_are_made_one_by_one(monkeypatch):
    flops = counts(trainer().model).summary()["flops"]
    for steps, number in ((6, 5), (2.5, 2), (0.5, 1)):
        monkeypatch.setattr(training, "OPERATIONS_TOGETHER", steps * 3 * 15 * flops)
        assert trainer(epochs=100, batch_size=15)._together == number


@pytest.mark.slow
@pytest.mark.parametrize(("chosen", "number"), [(None, 1), (5, 5)])
def test_a_callback_that_acts_between_steps_has_them_one_by_one(chosen, number):
    one = trainer(epochs=10, batch_size=15, steps_per_execution=chosen)
    between = Mock()
    one.callbacks.append(keras.callbacks.LambdaCallback(on_train_batch_end=between))
    trained(one, 0)
    assert between.call_count == 100 // number
    one.callbacks.clear()
    trained(one, 0)
    assert one.model.steps_per_execution == (chosen or 10)


@pytest.mark.slow
def test_weight_decay_adds_its_share_of_kernels_and_named_biases_to_the_gradient():
    plain, decayed = (
        trainer(
            epochs=None,
            steps=1,
            optimizer="sgd",
            momentum=0.0,
            learning_rate=0.1,
            weight_decay=decay,
            decay_biases=("logits",),
        )
        for decay in (0.0, 0.5)
    )
    models = plain.build(4), decayed.build(4)
    for model in models:
        for layer in ("conv1", "logits"):
            model.get_layer(layer).bias.assign(np.full(model.get_layer(layer).bias.shape, 0.3))
    start = {w.path: w.numpy() for w in models[0].weights}
    for one, model in zip((plain, decayed), models, strict=True):
        one.train(model, 4)
    for before, after in zip(*(model.weights for model in models), strict=True):
        decays = before.path.endswith("kernel") or before.path == "logits/bias"
        expected = -0.1 * 0.5 * start[before.path] if decays else 0.0
        assert_allclose(
            after.numpy() - before.numpy(), expected + np.zeros(before.shape), atol=1e-6
        )


def test_decay_of_an_unknown_bias_is_refused():
    message = "decay_biases: got 'conv9', expected among conv1"
    assert_refused(message, trainer, weight_decay=0.1, decay_biases=("conv9",))
    message = "decay_biases: got 'logits', expected a tuple of names of layers"
    assert_refused(message, Training, epochs=1, decay_biases="logits")


@pytest.mark.slow
def test_label_smoothing_gives_the_loss_of_keras():
    one = trainer(epochs=None, steps=1, label_smoothing=0.1, batch_size=150)
    start = one.build(5)
    _, history = trained(one, 5)
    loss = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)
    expected = loss(np.eye(10)[DATA.labels], start(DATA.images.astype("float32")))
    assert history["loss"][0] == pytest.approx(float(expected), rel=1e-5)


@pytest.mark.slow
def test_the_best_epoch_is_kept_and_the_training_set_split_once(monkeypatch):
    split = Mock(wraps=split_validation)
    monkeypatch.setattr(training, "split_validation", split)
    settings = {"validation": 0.2, "learning_rate": ((0, 0.05), (2, 3.0))}  # 3.0 ruins it
    model, history = trained(trainer(epochs=6, keep="best", **settings), 6)
    split.assert_called_once_with(DATA, 0.2, 6)
    best = int(history["val_loss"].idxmin())
    assert best < 5
    shorter, _ = trained(trainer(epochs=best + 1, **settings), 6)
    assert_same_weights(model, shorter)


@pytest.mark.slow
def test_the_best_epoch_of_a_pruned_member_is_one_at_its_final_sparsity():
    one = trainer(
        Pruned(0.7), epochs=5, validation=0.2, keep="best", learning_rate=((0, 0.05), (1, 3.0))
    )
    model, _ = trained(one, 0)
    kernels = [w.numpy() for w in model.weights if w.path.endswith("kernel")]
    for kernel in kernels:
        assert np.count_nonzero(kernel) <= max(round(kernel.size * 0.3), 1)


@pytest.fixture(scope="module")
def plain():
    """A trainer of dense members with the study's own settings."""
    return trainer()


def rates(training, steps, steps_per_epoch):
    rate = LearningRate(training, steps, steps_per_epoch)
    return [float(rate(np.int64(step))) for step in range(steps)]


def test_learning_rates_in_pieces_warmed_up_and_along_a_cosine():
    pieces = Training(epochs=3, learning_rate=((0, 0.1), (1, 1.0), (2, 0.01)))
    assert_allclose(rates(pieces, 6, 2), [0.1, 0.1, 1, 1, 0.01, 0.01], rtol=1e-6)
    warm = Training(epochs=3, learning_rate=0.4, warmup=2)
    assert_allclose(rates(warm, 6, 2), [0.1, 0.2, 0.3, 0.4, 0.4, 0.4], rtol=1e-6)
    cosine = Training(epochs=4, learning_rate=0.2, decay="cosine")
    reference = keras.optimizers.schedules.CosineDecay(0.2, 8)
    assert_allclose(rates(cosine, 8, 2), [float(reference(step)) for step in range(8)], rtol=1e-5)


def test_epochs_of_batches_across_their_ends_are_fractions_of_steps():
    """The schedule of [F]'s code: an epoch of ImageNet is 1,281,167 / 4,096 = 312.78 steps."""
    pieces = Training(steps=1000, learning_rate=((0, 1.6), (2, 0.16)), warmup=1)
    rate = LearningRate(pieces, 1000, 1_281_167 / 4096)
    steps = np.array([0, 311, 312, 313, 624, 625, 626, 999])
    epochs = steps * 4096 / 1_281_167
    warmed = 1.6 * np.minimum(epochs + 4096 / 1_281_167, 1)
    expected = np.where(epochs < 2, warmed, 0.16)
    assert_allclose([float(rate(step)) for step in steps], expected, rtol=1e-6)


def test_batches_across_epochs_end_at_the_last_full_one():
    one = trainer(across_epochs=True)
    _, history = trained(one, 1)
    assert (one.steps, int(one.model.optimizer.iterations), len(history)) == (5, 5, 2)
    sizes = [len(labels) for _, labels in one.batches(1).take(7)]
    assert sizes == [64] * 7


@settings(max_examples=40)
@given(
    st.floats(0.05, 0.99),
    st.tuples(st.floats(0, 1), st.floats(0, 1)).filter(lambda pair: pair[0] < pair[1]),
    st.none() | st.integers(1, 300),
    st.integers(1, 400),
)
def test_every_schedule_reaches_its_sparsity_within_the_run(sparsity, window, frequency, steps):
    schedule = pruning_schedule(
        Pruned(sparsity, begin=window[0], end=window[1], frequency=frequency), sparsity, steps
    )
    assert schedule.end_step <= steps
    due, reached = schedule.at(schedule.end_step)
    assert due
    assert reached == pytest.approx(sparsity, rel=1e-5)


@pytest.mark.slow
def test_batches_are_halved_until_they_fit_the_memory(plain, monkeypatch):
    one = trainer(micro_batch="auto")
    fit = one.model.fit

    def full(*arguments, **options):
        if (one.micro_batch or 64) > 20:
            raise tf.errors.ResourceExhaustedError(None, None, "out of memory")
        return fit(*arguments, **options)

    monkeypatch.setattr(one.model, "fit", full)
    with pytest.warns(Notice, match="examples do not fit the memory") as notices:
        model, _ = trained(one, 3)
    last = "micro_batch: 32 examples do not fit the memory; now 16"
    assert str(notices[-1].message) == last
    assert_allclose(model.get_weights()[0], trained(plain, 3)[0].get_weights()[0], atol=1e-6)
    fixed = trainer(micro_batch=32)
    monkeypatch.setattr(fixed.model, "fit", full)
    one.micro_batch = 64
    assert_refused("micro_batch: got 32 for batches of 64", trained, fixed, 0)


@pytest.mark.parametrize(
    "size",
    [0, -1],
)
def test_micro_batches_divide_batches(size):
    assert_refused(
        "micro_batch: got .*, expected a divisor of the batch size 64",
        Training,
        epochs=1,
        batch_size=64,
        micro_batch=size,
    )
