"""`Pruning` against TF-MOT's own wrapper on tf_keras: equal starting weights and batches, equal everything else."""

import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.builders.equality import assert_all_close
from tests.builders.nightly import first_and_nightly
from tests.builders.refusals import assert_refused
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.compress.pruning.pruning import Pruning
from tfaudit.compress.pruning.sparsity import sparsity

EPOCHS, BATCH = 3, 16
RNG = np.random.default_rng(0)
IMAGES = RNG.normal(size=(10 * BATCH, 8, 8, 3)).astype(np.float32)
LABELS = RNG.integers(0, 5, len(IMAGES))


@pytest.fixture(scope="module")
def tf_keras(tfmot):
    return pytest.importorskip("tf_keras")


def convnet(api):
    return api.Sequential(
        [
            api.layers.InputLayer((8, 8, 3)),
            api.layers.Conv2D(8, 3, activation="relu", name="conv1"),
            api.layers.MaxPooling2D(name="pool"),
            api.layers.Flatten(name="flat"),
            api.layers.Dense(12, activation="relu", name="hidden"),
            api.layers.Dense(5, name="logits"),
        ]
    ), api.optimizers.Adam(1e-2)


def residual_net(api):
    def conv(filters, name):
        decay = api.regularizers.L2(5e-4)
        return api.layers.Conv2D(
            filters, 3, padding="same", use_bias=False, kernel_regularizer=decay, name=name
        )

    def norm(
        name,
    ):  # Keras 2 fuses by default, and then corrects the variance of a batch by n / (n - 1).
        return api.layers.BatchNormalization(
            name=name, **({} if api is keras else {"fused": False})
        )

    inputs = api.Input((8, 8, 3))
    x = norm("norm0")(conv(8, "conv0")(inputs))
    x = api.layers.ReLU(name="relu0")(x)
    y = norm("norm1")(conv(8, "conv1")(x))
    y = conv(8, "conv2")(api.layers.ReLU(name="relu1")(y))
    x = api.layers.Add(name="add")([x, norm("norm2")(y)])
    x = api.layers.GlobalAveragePooling2D(name="pool")(api.layers.ReLU(name="relu2")(x))
    logits = api.layers.Dense(5, kernel_regularizer=api.regularizers.L2(5e-4), name="logits")(x)
    return api.Model(inputs, logits), api.optimizers.SGD(0.01, momentum=0.9, nesterov=True)


def by_layer(model):
    """{layer: weights}, seen through TF-MOT's wrappers."""
    inner = [getattr(layer, "layer", layer) for layer in model.layers]
    return {layer.name: layer.get_weights() for layer in inner if layer.get_weights()}


def fit(model, optimizer, api, *callbacks, images=None):
    loss = api.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss, jit_compile=False)
    x, y, test = IMAGES[:images], LABELS[:images], (IMAGES[-BATCH:], LABELS[-BATCH:])
    settings = {
        "batch_size": BATCH,
        "epochs": EPOCHS,
        "shuffle": False,
        "verbose": 0,
        "validation_data": test,
    }
    history = model.fit(x, y, callbacks=[*callbacks], **settings).history
    return np.array([history["loss"], history["val_loss"]])


def wrapped(tfmot, model, schedule, start):
    """TF-MOT's model with these weights at the start."""
    model = tfmot.prune_low_magnitude(model, pruning_schedule=schedule)
    for layer in model.layers:
        inner = getattr(layer, "layer", layer)
        if inner.name in start:
            inner.set_weights(start[inner.name])
    return model


def masks_of(model):
    """{layer: mask} of TF-MOT's model."""
    return {
        layer.layer.name: mask.numpy().astype(bool)
        for layer in model.layers
        if hasattr(layer, "pruning_vars")
        for _, mask, _ in layer.pruning_vars
    }


def our_masks(pruning):
    return {name.split("/")[-2]: mask for name, mask in pruning.masks().items()}


def after_epochs(api, state):
    """A callback, and the list to which it adds a state after every epoch."""
    states = []
    return api.callbacks.LambdaCallback(on_epoch_end=lambda *_: states.append(state())), states


@pytest.mark.slow
@pytest.mark.parametrize("net", first_and_nightly([residual_net, convnet]))
@pytest.mark.parametrize("scheduled", first_and_nightly(["polynomial", "constant"]))
def test_losses_masks_and_weights_equal_those_of_tfmot(tfmot, tf_keras, net, scheduled):
    schedule = {
        "polynomial": tfmot.PolynomialDecay(0.1, 0.8, begin_step=2, end_step=20, frequency=6),
        # Step 30 is the last of the run, 31 would be the next update: TF-MOT never comes to it, and so must we.
        "constant": tfmot.ConstantSparsity(0.7, begin_step=1, frequency=10),
    }[scheduled]
    keras.utils.set_random_seed(1)
    ours, optimizer = net(keras)
    start = by_layer(ours)
    pruning = Pruning(schedule)
    our_losses = fit(ours, optimizer, keras, pruning)

    theirs, optimizer = net(tf_keras)
    theirs = wrapped(tfmot, theirs, schedule, start)
    their_losses = fit(theirs, optimizer, tf_keras, tfmot.UpdatePruningStep())

    assert_allclose(our_losses, their_losses, rtol=0, atol=1e-6)
    expected = by_layer(theirs)
    for name, weights in by_layer(ours).items():
        assert_all_close(weights, expected[name], atol=1e-5)
    wanted, got = masks_of(theirs), our_masks(pruning)
    assert got.keys() == wanted.keys()
    assert all((got[name] == wanted[name]).all() for name in wanted)
    assert all(not mask.all() for mask in got.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "begin", "frequency", "rate"),
    first_and_nightly(
        [
            (4, 1, 2, 0.3),
            (5, 6, 5, 0.1),
            (4, 1, 4, 0.3),
            (4, 5, 4, 0.3),
            (3, 2, 1, 0.3),
            (1, 1, 1, 0.1),
        ],
        always=2,
    ),
    ids=str,
)
@pytest.mark.parametrize("share", first_and_nightly([0.7, None]), ids=["constant", "rising"])
def test_masks_of_an_epochs_first_step_equal_those_of_tfmot(
    tfmot, tf_keras, steps, begin, frequency, rate, share
):
    """TF-MOT masks the weights at the end of an epoch, after validation, and ranks them then."""
    last = begin + frequency * ((steps * EPOCHS - begin) // frequency)
    rising = share is None and last > begin
    schedule = (
        tfmot.PolynomialDecay(0.1, 0.8, begin, last, frequency=frequency)
        if rising
        else tfmot.ConstantSparsity(share or 0.5, begin, frequency=frequency)
    )
    images = steps * BATCH
    keras.utils.set_random_seed(1)
    ours, _ = convnet(keras)
    theirs, _ = convnet(tf_keras)
    theirs = wrapped(tfmot, theirs, schedule, by_layer(ours))

    pruning = Pruning(schedule)
    note, found = after_epochs(keras, lambda: (our_masks(pruning), by_layer(ours)))
    our_losses = fit(ours, keras.optimizers.SGD(rate), keras, pruning, note, images=images)
    note, expected = after_epochs(tf_keras, lambda: (masks_of(theirs), by_layer(theirs)))
    update = tfmot.UpdatePruningStep()
    their_losses = fit(theirs, tf_keras.optimizers.SGD(rate), tf_keras, update, note, images=images)

    assert_allclose(our_losses, their_losses, rtol=0, atol=1e-5)
    assert len(found) == len(expected) == EPOCHS
    for (masks, weights), (wanted, same) in zip(found, expected, strict=True):
        assert all((masks[name] == wanted[name]).all() for name in wanted)
        for name in same:
            assert_all_close(weights[name], same[name], atol=1e-5)
    assert not all(mask.all() for mask in found[-1][0].values())


def test_a_tf_keras_model_is_sent_to_tfmot(tf_keras):
    model, _ = convnet(tf_keras)
    for refused in (lambda: prune(model, 0.5), lambda: sparsity(model)):
        assert_refused(r"tf_keras .*prune_low_magnitude .*tfaudit\.Predictions", refused)
