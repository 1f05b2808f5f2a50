"""Candidates come from the tables, in order of their size, and only where layers can lose channels."""

import keras
import numpy as np
import pandas as pd
import pytest

from tests.builders.compressible import classifier
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.extensions.search.candidates import (
    LAYER_CHOICES,
    LEVELS,
    PERCENTILES,
    Preparation,
    candidates,
    channel_pruning,
    removable_layers,
)
from tfaudit.models.registry import build_model
from tfaudit.study.quantization import KINDS, QuantizationKind


@pytest.fixture(scope="module")
def net():
    return classifier(epochs=1)


def copy_of(model):
    made = keras.models.clone_model(model)
    made.set_weights(model.get_weights())
    return made


def residual():
    # in a quarter of draws, stem and outer lose three of the same channels by chance
    keras.utils.set_random_seed(1)
    inputs = keras.Input((8, 8, 3))
    stream = keras.layers.Conv2D(8, 3, padding="same", name="stem")(inputs)
    inner = keras.layers.Conv2D(8, 3, padding="same", activation="relu", name="inner")(stream)
    deep = keras.layers.DepthwiseConv2D(3, padding="same", name="depthwise")(inner)
    joined = keras.layers.Conv2D(8, 3, padding="same", name="outer")(deep)
    pooled = keras.layers.GlobalAveragePooling2D()(keras.layers.Add()([stream, joined]))
    return keras.Model(inputs, keras.layers.Dense(4, name="logits")(pooled))


def test_without_training_data_every_kind_of_the_table_is_a_candidate(net, monkeypatch):
    monkeypatch.setitem(KINDS.core, "new", QuantizationKind("new", types=("float16",)))
    table = table_of(candidates(lambda: copy_of(net), training=False))
    assert set(table["key"][~table["is_choice"]]) == set(KINDS)
    choices = table.loc[table["is_choice"], ["kind", "percentile", "layers", "last"]]
    declared = [choice for kind in LAYER_CHOICES.values() for choice in kind.of(2)]
    assert set(choices.itertuples(index=False, name=None)) == {
        ("int8", 100, None, True),
        *(("int8", percentile, None, False) for percentile in PERCENTILES),
        *((choice.kind, choice.percentile, choice, False) for choice in declared),
    }
    assert table["key"].tolist()[:5] == ["dynamic_range", "int8", "float32", "float16", "new"]
    assert table["is_plain"].tolist() == [True] * 2 + [False] * (len(table) - 2)
    assert table["is_fallback"].tolist() == [i in (2, 3, 4) for i in range(len(table))]
    slow = table["kind"].map(lambda kind: KINDS[kind].slow)
    for part in (table[~slow][5:], table[slow]):
        assert part["estimate"].is_monotonic_increasing
    assert table["kind"].iloc[-1] == "int16x8"
    assert table["pruned"].isna().all()


@pytest.mark.parametrize("full_integer", [False, True])
def test_one_scale_per_kernel_is_one_candidate_more_whatever_int8_loses(net, full_integer):
    usual, more = (
        candidates(lambda: net, training=False, full_integer=full_integer, per_tensor=wanted)
        for wanted in (False, True)
    )
    [added] = set(more) - set(usual)
    assert (added.key, added.is_plain, added.control) == ("int8-per_tensor", True, None)


def table_of(plan):
    """One row per candidate, in the order of the plan, with the position of its control, -1 for none."""
    keys = [one.key for one in plan]
    table = pd.DataFrame([vars(one) for one in plan]).assign(
        key=keys,
        title=[one.title for one in plan],
        level=[one.pruned.level if one.pruned else 0.0 for one in plan],
        granularity=[one.pruned.granularity if one.pruned else "" for one in plan],
        is_trained=[one.preparation != Preparation() for one in plan],
        is_choice=[one.is_choice for one in plan],
        is_plain=[one.is_plain for one in plan],
        is_fallback=[one.is_fallback for one in plan],
        control=[keys.index(one.control.key) if one.control else -1 for one in plan],
    )
    return table.assign(is_slow=table["kind"].map(lambda kind: KINDS[kind].slow))


def test_the_last_layer_in_float_is_tried_after_plain_int8_and_before_other_choices(net):
    table = table_of(candidates(lambda: copy_of(net), training=True))
    choices = table[table["is_choice"] & ~table["quantization_aware"] & (table["kind"] == "int8")]
    last = choices[choices["last"]]
    assert last["level"].tolist() == [0, *sorted(LEVELS["channel"])]
    assert choices.groupby("control").head(1).index.equals(last.index)
    assert last["title"].iloc[0] == "int8, last layer in float"


def test_candidates_that_need_training_come_after_the_others_those_that_lose_least_first(net):
    table = table_of(candidates(lambda: copy_of(net), training=True))
    assert (table["control"] < table.index).all()
    assert table["is_trained"].is_monotonic_increasing
    assert table["level"].is_monotonic_increasing
    trained = table[table["is_trained"]]
    prunings = list(trained.groupby(["level", "granularity"], sort=False))
    assert len(prunings) == 1 + len(LEVELS["channel"]) + len(LEVELS["weight"])
    for _, same in prunings:
        assert (np.diff(same.index) == 1).all()
        assert same.index.equals(same.sort_values(["is_slow", "estimate"], kind="stable").index)
    of_channels = trained.loc[trained["granularity"] == "channel", "level"]
    assert set(of_channels) == set(LEVELS["channel"])


def test_names_are_unique_and_safe_and_only_kernels_of_floats_are_stored_without_zeros(net):
    table = table_of(candidates(lambda: copy_of(net), training=True))
    assert table["key"].is_unique
    assert table["title"].is_unique
    assert table["key"].str.fullmatch(r"[A-Za-z0-9._=+-]+").all()
    # LiteRT runs no integer kernels without their zeros
    assert set(table.loc[table["sparse"], "kind"]) == {"float32", "float16"}


def test_layers_that_can_lose_channels_are_not_the_output_nor_those_that_an_add_joins(net):
    assert removable_layers(copy_of(net)).names == ("hidden",)
    assert removable_layers(residual()).names == ("inner",)


def test_a_channel_that_carries_constants_through_padding_may_stay():
    model = build_model("resnet20", (16, 16, 3), 4, blocks=[1, 1, 1])
    for layer in model.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.beta.assign(np.linspace(0.1, 0.8, layer.beta.shape[0]))
    assert removable_layers(model).names == tuple(
        f"stage{stage}_block1_conv1" for stage in (1, 2, 3)
    )


def test_a_model_of_which_no_layer_can_lose_channels_loses_weights_only():
    def load():
        inputs = keras.Input((8,))
        return keras.Model(inputs, keras.layers.Add()([inputs, keras.layers.Dense(8)(inputs)]))

    assert removable_layers(load()).names == ()
    plan = candidates(load, training=True)
    assert {candidate.pruned.granularity for candidate in plan if candidate.pruned} == {"weight"}


def test_candidates_need_the_extensions_that_make_them(net, monkeypatch):
    for registry in ("PUBLIC_NAMES", "LAYER_CHOICES"):
        monkeypatch.setattr(f"tfaudit.extensions.search.candidates.{registry}", {})
    plan = candidates(lambda: copy_of(net), training=True)
    assert {candidate.pruned.granularity for candidate in plan if candidate.pruned} == {"weight"}
    assert not any(candidate.quantization_aware or candidate.layers for candidate in plan)


@pytest.mark.parametrize("level", [0.25, 0.75])
def test_the_estimate_of_the_parameters_is_close_to_what_shrinking_leaves(net, level):
    shrink = pytest.importorskip("tfaudit.extensions.shrinking.shrink").shrink
    layers, pruned = removable_layers(copy_of(net)), copy_of(net)
    how = channel_pruning(level, layers.names)
    prune(
        pruned,
        level,
        layers=how.layers,
        method=how.method,
        granularity=how.granularity,
        axis=how.axis,
    )
    assert layers.left(level) == pytest.approx(shrink(pruned).model.count_params(), rel=0.05)
