"""One contract for every pruning method, one-shot and in training; it tests whatever `scores` registers."""

import json

import keras
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.builders.nightly import first_and_nightly
from tests.builders.pruning_reference import keep_count
from tests.builders.refusals import assert_refused
from tests.builders.small_nets import assert_equal_masks, compiled
from tfaudit.compress.pruning.channels import AXES, channel_axes, channel_count, slices
from tfaudit.compress.pruning.kernels import find_kernels
from tfaudit.compress.pruning.masked_kernels import MaskedKernels
from tfaudit.compress.pruning.masks import SCOPES
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.compress.pruning.pruning import Pruning
from tfaudit.compress.pruning.pruning_method import PruningMethod
from tfaudit.compress.pruning.schedules import ConstantSparsity
from tfaudit.compress.pruning.score_data import gathered
from tfaudit.compress.pruning.scores import GRANULARITIES

RNG = np.random.default_rng(0)
IMAGES = RNG.normal(size=(40, 6, 6, 3)).astype(np.float32)
LABELS = RNG.integers(0, 4, len(IMAGES))
WEIGHTS = [{"method": method} for method in GRANULARITIES["weight"]]
CHANNELS = [
    {"method": method, "granularity": "channel", "axis": axis}
    for method in GRANULARITIES["channel"]
    for axis in AXES
]
EVERY = [
    *({**each, "scope": scope} for each in WEIGHTS + CHANNELS[::2] for scope in SCOPES),
    *({**each, "scope": "layer"} for each in CHANNELS[1::2]),
]
DTYPES = ("float64", "bfloat16", "float16")
every = pytest.mark.parametrize(
    "settings", EVERY, ids=lambda each: "-".join(map(str, each.values()))
)


def net(dtype=None):
    keras.utils.set_random_seed(0)
    inputs = keras.Input((6, 6, 3))
    x = keras.layers.Conv2D(8, 3, activation="relu", name="conv", dtype=dtype)(inputs)
    x = keras.layers.DepthwiseConv2D(2, depth_multiplier=2, name="depthwise", dtype=dtype)(x)
    x = keras.layers.Flatten()(keras.layers.ReLU()(keras.layers.BatchNormalization(name="norm")(x)))
    return compiled(keras.Model(inputs, keras.layers.Dense(4, name="logits", dtype=dtype)(x)))


def data_for(settings):
    return (IMAGES, LABELS) if PruningMethod(**settings).needs_data else None


def pruned(settings, sparsity=0.7, model=None):
    return prune(model or net(), sparsity, gradient_data=data_for(settings), decay=0.1, **settings)


def unit_masks(model, masks, settings):
    """Per kernel the mask with one entry for what stays or goes as one; a channel is all kept or all gone."""
    if settings.get("granularity", "weight") == "weight":
        return {name: mask.ravel() for name, mask in masks.items()}
    axes = channel_axes(model, find_kernels(model), settings["axis"])
    rows = {name: np.asarray(slices(mask, axes[name])) for name, mask in masks.items()}
    for name, each in rows.items():
        assert_array_equal(each.all(axis=1), each.any(axis=1))
        assert len(each) == channel_count(masks[name].shape, axes[name])
    return {name: each.all(axis=1) for name, each in rows.items()}


@every
def test_exactly_the_requested_number_goes_and_nothing_else_changes(settings):
    model = net()
    before = {weight.path: weight.numpy() for weight in model.weights}
    masks = pruned(settings, model=model)
    units = unit_masks(model, masks, settings)
    if settings["scope"] == "layer":
        assert {n: m.sum() for n, m in units.items()} == {
            n: keep_count(m.size, 0.7) for n, m in units.items()
        }
    else:
        assert sum(m.sum() for m in units.values()) == keep_count(
            sum(m.size for m in units.values()), 0.7
        )
    for weight in model.weights:
        kept = masks.get(weight.path, np.ones(weight.shape, bool))
        assert kept.dtype == bool
        assert_array_equal(weight.numpy(), np.where(kept, before[weight.path], 0))


@pytest.mark.parametrize("settings", WEIGHTS + CHANNELS, ids=str)
def test_masks_are_monotone_and_the_same_again_after_json(settings):
    again = json.loads(json.dumps(settings))
    assert PruningMethod(**again) == PruningMethod(**settings)
    less, more, same = (
        pruned(each, share) for each, share in ((settings, 0.3), (settings, 0.6), (again, 0.6))
    )
    for name in less:
        assert not (more[name] & ~less[name]).any()
        assert_array_equal(more[name], same[name])


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_what_is_zero_already_goes_first(granularity):
    model, settings = net(), {"method": "random", "granularity": granularity}
    first, second = (
        prune(model, share, seed=seed, **settings) for share, seed in ((0.4, 1), (0.6, 2))
    )
    assert all(not (second[name] & ~first[name]).any() for name in first)


@pytest.mark.parametrize(
    "settings", [e for e in WEIGHTS + CHANNELS if e["method"] != "random"], ids=str
)
def test_of_equal_scores_the_first_stay(settings):
    """Equal channels have equal scores, so the exact number of them is kept; the first where scores are norms."""
    model = net()
    for weight in find_kernels(model).values():
        weight.assign(np.full(weight.shape, 0.5))
    for mask in unit_masks(model, pruned(settings, 0.5, model), settings).values():
        assert mask.sum() == keep_count(mask.size, 0.5)
        if settings["method"] in ("magnitude", "l1", "l2", "linf"):
            assert_array_equal(mask, np.arange(mask.size) < mask.sum())


@pytest.mark.parametrize(
    ("settings", "dtype"),
    [(each, DTYPES[i % 3]) for i, each in enumerate(WEIGHTS + CHANNELS)],
    ids=str,
)
def test_the_dtype_is_kept(settings, dtype):
    model = net(dtype)
    pruned(settings, model=model)
    assert {kernel.dtype for kernel in find_kernels(model).values()} == {dtype}


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings", first_and_nightly(EVERY, 8), ids=lambda each: "-".join(map(str, each.values()))
)
def test_a_compiled_update_finds_the_masks_of_one_shot_pruning(settings):
    """Ranking, scores, gradients and maps as operations of a graph; test_pruning_methods.py tests them in `fit`."""
    model, wanted = net(), pruned(settings)
    method = PruningMethod(**settings, decay=0.1)
    data = gathered((IMAGES, LABELS)) if method.needs_data else None
    masked = MaskedKernels(model, find_kernels(model), ConstantSparsity(0.7, 1, 1), method, data)
    masked.update(1)
    assert_equal_masks(masked.masks(), wanted)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "l1"}, "method: got 'l1', expected '.* or '.*' with granularity='weight'$"),
        (
            {"granularity": "channel"},
            "method: got 'magnitude', expected '.* or '.*' with granularity='channel'$",
        ),
        ({"granularity": "row"}, "granularity: got 'row', expected 'weight' or 'channel'"),
        ({"axis": 0}, "axis: got 0, expected -2 or -1"),
        ({"scope": "net"}, "scope: got 'net', expected 'layer' or 'global'"),
        ({"gradient": "half"}, "gradient: got 'half', expected 'loss' or 'data'"),
        ({"decay": -1.0}, r"decay: got -1\.0, expected a finite number >= 0"),
        ({"seed": 0.5}, r"seed: got 0\.5, expected a whole number of 0 or more"),
        (
            {"method": "gradient"},
            "gradient_data: got None, expected data to .* method 'gradient' over",
        ),
    ],
)
def test_what_one_shot_pruning_and_training_refuse(settings, message):
    for use in (lambda: prune(net(), 0.5, **settings), lambda: Pruning(0.5, **settings)):
        assert_refused(message, use)
