"""Members that are pruned from a parent: shared parents, ratios, rounds, rewinding."""

from unittest.mock import Mock

import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.builders.made_members import make_members
from tests.builders.refusals import assert_refused
from tests.builders.small_stores import small_study
from tfaudit import Pruned, Quantized, Training, load_dataset
from tfaudit.compress.pruning.kernels import find_kernels, kernel_layers
from tfaudit.compress.pruning.sparsity import sparsity_at
from tfaudit.datasets.pipeline import training_batches
from tfaudit.datasets.validation import split_validation
from tfaudit.models.registry import build_model
from tfaudit.population.member import MemberMaker, check_pruning, gradual_trainer, prune_and_retrain
from tfaudit.population.training import Trainer
from tfaudit.store.store import Store
from tfaudit.study.iterative import rounds

TRAIN = load_dataset("digits", "train").take(150)
CHAIN = rounds(2, 0.5, method="random")
VARIANTS = (
    Pruned(0.6, treatment="one_shot"),
    Pruned(0.6, treatment="finetune", scope="global"),
    Pruned(ratio=4, treatment="finetune", unpruned_layers=("logits",)),
    Pruned(0.6, method="undecayed", treatment="finetune", decay=5e-4),
    *CHAIN,
    Pruned(0.5, method="l1", treatment="finetune", granularity="channel"),
    Pruned(0.6, treatment="rewind", rewind_to=3),
)
RECALIBRATED = tuple(
    Pruned(0.6, treatment=treatment, batch_norm=how)
    for treatment in ("one_shot", "gradual")
    for how in ("moving", "recalibrated")
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A store with every variant of one member, its maker, and a loader of its models."""
    plan = {"batch_size": 32, "validation": 0.2}
    study = small_study(
        training=Training(epochs=2, **plan),
        retraining=Training(epochs=1, learning_rate=0.02, **plan),
        variants=VARIANTS,
        population=2,
        limit=150,
        model_options={"filters": [4], "units": 8},
    )
    return make_members(tmp_path_factory.mktemp("study"), study)


def model_of(store, key, member=0):
    path = store.directory / store.member_path(key, member, "model.keras")
    return keras.saving.load_model(path)


def values_of(model):
    return {name: kernel.numpy() for name, kernel in find_kernels(model).items()}


@pytest.fixture
def kernels(made):
    """A function that returns the values of a variant's kernels by name."""
    store, _ = made
    return lambda key: values_of(model_of(store, key))


@pytest.mark.slow
def test_one_shot_leaves_the_weights_of_the_parent(kernels):
    dense = kernels("dense")
    for name, values in kernels(VARIANTS[0].key).items():
        remaining = values != 0
        assert remaining.sum() == round(values.size * 0.4)
        assert_array_equal(values[remaining], dense[name][remaining])
        assert np.abs(dense[name][~remaining]).max() <= np.abs(dense[name][remaining]).min()


@pytest.mark.slow
def test_fine_tuning_starts_from_the_same_parent_and_holds_the_masks(kernels):
    dense, tuned = kernels("dense"), kernels(VARIANTS[1].key)
    everything = np.concatenate([np.abs(values).ravel() for values in dense.values()])
    threshold = np.sort(everything)[round(everything.size * 0.6)]
    for name, values in tuned.items():
        assert_array_equal(values != 0, np.abs(dense[name]) >= threshold)
        assert (values[values != 0] != dense[name][values != 0]).any()


@pytest.mark.slow
def test_a_ratio_counts_all_parameters_and_spares_the_classifier(made):
    store, _ = made
    model = model_of(store, VARIANTS[2].key)
    values = values_of(model)
    total = sum(int(np.prod(variable.shape)) for variable in model.trainable_variables)
    zeros = sum(int((kernel == 0).sum()) for kernel in values.values())
    assert total / (total - zeros) == pytest.approx(4, rel=0.02)
    assert (values[next(name for name in values if "logits" in name)] != 0).all()


@pytest.mark.slow
def test_whole_input_channels_are_pruned(kernels):
    for values in kernels(VARIANTS[-2].key).values():
        channels = (np.moveaxis(values, -2, 0).reshape(values.shape[-2], -1) != 0).any(axis=1)
        assert channels.sum() == max(round(len(channels) * 0.5), 1)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "asked"), [("magnitude", 0), ("random", 0), ("gradient", 1)])
def test_batches_are_made_only_for_methods_that_use_examples(made, monkeypatch, method, asked):
    store, maker = made
    trainer, one_shot = maker._retrainer, Pruned(0.5, method=method, treatment="one_shot")
    batches = Mock(side_effect=trainer.batches)
    monkeypatch.setattr(Trainer, "batches", batches)
    gradual_trainer(store.study, Pruned(0.5, method=method), TRAIN)
    assert batches.call_count == asked
    prune_and_retrain(one_shot, trainer, trainer.build(0), seed=0, early=lambda: None)
    assert batches.call_count == 2 * asked


@pytest.mark.slow
def test_rounds_follow_one_another_and_rewind_to_the_initialisation(made, kernels):
    store, maker = made
    study = store.study
    start = values_of(maker._trainer("dense").build(study.member_seed("dense", 0)))
    first, second = (kernels(variant.key) for variant in CHAIN)
    for name in start:
        assert not ((second[name] != 0) & (first[name] == 0)).any()
        assert (second[name] != 0).sum() == round(start[name].size * 0.25)
    rewound = pruned_only(maker, CHAIN[0])
    for name, values in rewound.items():
        assert_array_equal(values[values != 0], start[name][values != 0])


def pruned_only(maker, variant):
    """What a variant's retraining starts from."""
    seen = {}
    train = Trainer.train

    def look(self, model, *arguments, **named):
        seen.update(values_of(model))
        return train(self, model, *arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "train", look)
        maker._trained(variant, 0, 7, None)
    return seen


@pytest.mark.slow
def test_rewinding_goes_back_to_what_the_dense_member_was_at_that_step(made):
    store, maker = made
    seed = store.study.member_seed("dense", 0)
    dense = maker._trainer("dense")
    early = dense.build(seed)
    dense.train(early, seed, until=3)
    expected, fresh = values_of(early), values_of(dense.build(seed))
    rewound = pruned_only(maker, VARIANTS[-1])
    for name, values in rewound.items():
        remaining = values != 0
        assert_array_equal(values[remaining], expected[name][remaining])
        assert (expected[name] != fresh[name]).any()


@pytest.mark.slow
def test_a_member_depends_on_its_seeds_alone(made, kernels):
    store, _ = made
    again = MemberMaker(store)
    for variant in (VARIANTS[1], VARIANTS[3]):
        before = kernels(variant.key)
        model, _ = again._trained(variant, 0, store.study.member_seed(variant.key, 0), None)
        for name, values in values_of(model).items():
            assert_array_equal(values, before[name])


def test_biases_may_be_left_out_of_a_ratio():
    """Of [R]'s LeNet5, 61,706 / 50 = 1,234 parameters remain: 850 of the classifier, 226 biases, 158 weights."""
    model = build_model("lenet_r", (28, 28, 1), 10)
    layers = [name for name in kernel_layers(model) if name != "logits"]
    weights = 61_706 - 850 - 226
    for counted, remaining in ((True, 61_706 / 50 - 850 - 226), (False, 61_706 / 50 - 850)):
        found = sparsity_at(model, 50, layers, count_biases=counted)
        assert (1 - found) * weights == pytest.approx(remaining)
    assert sparsity_at(model, 1.001, count_biases=True) > 0
    assert_refused(
        r"ratio: got 1.001, expected above 1.004, at which no weight is pruned",
        sparsity_at,
        model,
        1.001,
        count_biases=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "message"),
    [
        (
            Pruned(0.5, method="l1", treatment="finetune"),
            "method: got 'l1', expected .* with granularity='weight'",
        ),
        (
            Pruned(0.5, treatment="one_shot", unpruned_layers=("nope",)),
            "unpruned_layers: got 'nope', no layer with a kernel, expected names among",
        ),
        (Pruned(ratio=500, treatment="one_shot"), "ratio: got 500, expected below"),
    ],
)
def test_impossible_settings_are_refused_before_any_member_is_made(made, variant, message):
    _, maker = made
    assert_refused(message, check_pruning, maker._retrainer, variant)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sparsity": 0.5, "ratio": 2}, "exactly one of the two"),
        ({"ratio": 1}, "ratio: got 1, expected above 1"),
        (
            {"sparsity": 0.5, "treatment": "melt"},
            "treatment: got 'melt', expected 'gradual', 'one_shot', 'finetune' or 'rewind'",
        ),
        ({"sparsity": 0.5, "after": "magnitude-0.2"}, "'dense' for gradual pruning"),
        ({"sparsity": 0.5, "rewind_to": 5}, "0 unless 'rewind'"),
    ],
)
def test_settings_that_do_not_go_together(settings, message):
    assert_refused(message, Pruned, **settings)


@pytest.mark.slow
def test_recalibrated_members_differ_in_their_statistics_alone(tmp_path):
    """They are the averages over 20 full batches of the training part, in training mode, without a momentum."""
    plan = {"epochs": 1, "batch_size": 32, "validation": 0.2}
    study = small_study(
        model="cifar_convnet",
        training=Training(**plan),
        retraining=Training(**plan, learning_rate=0.02),
        variants=RECALIBRATED,
        limit=150,
        model_options={"filters": [4, 4]},
    )
    store, _ = make_members(tmp_path / "s", study, members=(1,))
    for plain, recalibrated in zip(RECALIBRATED[::2], RECALIBRATED[1::2], strict=True):
        one, other = (model_of(store, variant.key, 1) for variant in (plain, recalibrated))
        names = {
            variable.name
            for variable, same in zip(one.variables, other.variables, strict=True)
            if not np.array_equal(variable.numpy(), same.numpy())
        }
        assert names == {"moving_mean", "moving_variance"}
        seed = study.member_seed(recalibrated.key, 1)
        part, _ = split_validation(
            TRAIN, 0.2, study.member_seed("dense", 1) if recalibrated.parent else seed
        )
        batches = training_batches(part, batch_size=32, seed=seed)
        full = [images for images, _ in batches.take(30) if len(images) == 32][:20]
        for i, images in enumerate(full, start=1):
            for layer in one.layers:
                if isinstance(layer, keras.layers.BatchNormalization):
                    layer.momentum = 1 - 1 / i
            one(images, training=True)
        for mine, expected in zip(other.get_weights(), one.get_weights(), strict=True):
            assert_allclose(mine, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_a_training_that_diverges_is_named(tmp_path):
    plan = Training(epochs=1, batch_size=32, learning_rate=1e30)
    study = small_study(training=plan, limit=64, model_options={"filters": [2], "units": 4})
    assert_refused(
        "weights: got NaN or infinity in '.*', expected finite numbers; .* a lower learning rate",
        make_members,
        tmp_path,
        study,
    )


def test_a_member_is_calibrated_with_every_class_unless_the_first_examples_are_asked_for(tmp_path):
    by_class = TRAIN.select(np.argsort(TRAIN.labels), split="train")
    first, drawn = (Quantized("int8", calibration=how) for how in ("first", "drawn"))
    study = small_study(variants=(first, drawn))
    maker = MemberMaker(Store.create(tmp_path, study, {}), (by_class, TRAIN))
    assert_array_equal(maker._calibration_examples(first), by_class.images[:100])
    images = [image.tobytes() for image in by_class.images]
    labels = [
        by_class.labels[images.index(i.tobytes())] for i in maker._calibration_examples(drawn)
    ]
    assert np.bincount(labels).tolist() == [10] * 10
