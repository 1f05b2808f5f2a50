"""Members that are retrained with remedies: made, stored, the same again, and refused where nothing is held out."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

from tests.builders.made_members import make_members
from tests.builders.nightly import first_and_nightly
from tests.builders.operators import operators
from tests.builders.refusals import assert_refused
from tests.builders.small_stores import small_study
from tfaudit import InputError, Pruned, Quantized, Training
from tfaudit.compress.remedies.excess_gap import ExcessGap
from tfaudit.datasets.loading import load_dataset
from tfaudit.population.remedies import check_remedies
from tfaudit.study.remedies import DistillationRemedy, ExcessGapRemedy

PLAN = {"batch_size": 32, "learning_rate": 0.05, "validation": 0.25}


def study(*remedies, **settings):
    variants = tuple(Pruned(0.5, treatment="finetune", remedy=remedy) for remedy in ((), *remedies))
    usual = {
        "variants": variants,
        "training": Training(epochs=1, **PLAN),
        "retraining": Training(epochs=2, **PLAN),
    }
    return small_study(population=2, limit=160, **usual | settings)


def outcome(store, key, member):
    ranked = store.predictions(key, members=[member]).ranked
    return content(store, key, "history.csv", member).decode(), ranked.tolist()


def content(store, key, file, member=0):
    return (store.directory / store.member_path(key, member, file)).read_bytes()


@pytest.mark.slow
def test_members_are_made_with_remedies_and_each_depends_on_its_seed_alone(tmp_path):
    gap = ExcessGapRemedy(every=2, rate=1.0, epsilon=0.0, examples=20)
    one = study(DistillationRemedy(weight=2.0), (DistillationRemedy(), gap))
    _, plain, *others = (variant.key for variant in one.all_variants)
    store, _ = make_members(tmp_path / "all", one, members=(0, 1))
    assert "excess_gap" in outcome(store, others[-1], 1)[0]
    sparsity = store.record(plain, 1)["sparsity"]
    for key in others:
        assert store.record(key, 1)["sparsity"] == pytest.approx(sparsity)
        assert outcome(store, key, 1) != outcome(store, plain, 1)
    alone, _ = make_members(tmp_path / "alone", one, (others[-1],), (1,), parents=store)
    assert outcome(alone, others[-1], 1) == outcome(store, others[-1], 1)


@pytest.mark.parametrize(
    ("settings", "got"),
    [
        ({"retraining": Training(epochs=1)}, "validation=0.0"),
        ({"retraining": "fits.py:fit"}, "a training function"),
    ],
)
def test_an_excess_gap_needs_held_out_examples(settings, got):
    with pytest.raises(
        InputError, match=f"retraining: got {got} with the remedy 'excess_gap', expected"
    ) as caught:
        check_remedies(study("excess_gap", **settings), (ExcessGapRemedy(),), grouped("train"))
    assert "\n" not in str(caught.value)
    check_remedies(study("distillation", **settings), (DistillationRemedy(),), grouped("train"))


@pytest.mark.slow
def test_a_member_is_trained_for_int8_before_it_is_quantized(tmp_path):
    variants = (Quantized("int8"), Quantized("int8", remedy="quantization_aware"))
    one = study(variants=variants, retraining=Training(steps=6, **PLAN))
    control, aware = (variant.key for variant in variants)
    store, _ = make_members(tmp_path / "all", one, members=(0, 1))
    assert len(outcome(store, aware, 1)[0].splitlines()) == 3  # a heading and two epochs
    files = [content(store, key, "model.tflite", 1) for key in (control, aware)]
    assert files[0] != files[1]
    alone, _ = make_members(tmp_path / "alone", one, (aware,), (1,), parents=store)
    assert outcome(alone, aware, 1) == outcome(store, aware, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "remedy", first_and_nightly(["quantization_aware", ((),)]), ids=["aware", "after training"]
)
@pytest.mark.parametrize("kept", first_and_nightly(["last", (("logits",),)]), ids=str)
def test_the_last_layer_of_a_member_stays_in_float(tmp_path, kept, remedy):
    variant = Quantized("int8", keep_float=kept, remedy=remedy)
    store, _ = make_members(tmp_path / "s", study(variants=(variant,)))
    found = operators(content(store, variant.key, "model.tflite"))
    types = {
        kind: [dtype.name for own, dtype, _ in found if own == kind]
        for kind in ("CONV_2D", "FULLY_CONNECTED")
    }
    assert types["FULLY_CONNECTED"][-1] == "float32"
    assert {*types["CONV_2D"], *types["FULLY_CONNECTED"][:-1]} == {"int8"}


@pytest.mark.slow
def test_a_pruned_member_is_quantized_without_its_zeros(tmp_path):
    pruned = Pruned(0.9, treatment="one_shot")
    kinds = [
        Quantized("float16", after=pruned.key),
        Quantized("float16", sparse=True, after=pruned.key),
        Quantized("int8", percentile=99.0, after=pruned.key),
    ]
    store, _ = make_members(tmp_path / "s", study(variants=(pruned, *kinds)))
    plain, sparse, clipped = (store.record(kind.key, 0) for kind in kinds)
    assert sparse["bytes"] < plain["bytes"]
    assert clipped["zeros"] > 0.8 * clipped["parameters"]
    same = [store.predictions(kind.key).ranked[..., 0].tolist() for kind in kinds[:2]]
    assert same[0] == same[1]


def test_a_variant_that_cannot_be_converted_is_refused_before_any_training(tmp_path):
    one = study(variants=(Quantized("int8", keep_float=("none",)),))
    assert_refused(
        "keep_float: got none, expected names of layers, such as",
        make_members,
        tmp_path / "s",
        one,
        ["dense"],
    )


def grouped(split):
    """Digits with two columns that are no inputs."""
    draws = np.random.default_rng(len(split))
    columns = {
        "subject": draws.choice(["anna", "bert", "cleo"], 160),
        "old": draws.random(160) < 0.5,
    }
    return dataclasses.replace(load_dataset("digits", split).take(160), known_groups=columns)


@pytest.mark.slow
@pytest.mark.parametrize("groups", [("subject", "old"), ("old", "class")], ids=str)
def test_groups_of_a_study_weigh_as_numpy_says(tmp_path, groups, monkeypatch):
    """The weights of a batch are those of the paper's formula for its groups, which the model never sees."""
    steps, real = [], ExcessGap.example_weights

    def example_weights(self, batch):
        weights = real(self, batch)
        columns = [batch.columns[name] for name in sorted(self.columns)]
        values = [
            weights,
            tf.convert_to_tensor(self._multipliers),
            tf.reshape(batch.targets, [-1]),
            *columns,
        ]
        noted = tf.py_function(
            lambda *parts: steps.append([part.numpy() for part in parts]), values, []
        )
        with tf.control_dependencies([noted]):
            return tf.identity(weights)

    monkeypatch.setattr(ExcessGap, "example_weights", example_weights)
    one = study(ExcessGapRemedy(groups=groups, every=2, rate=2.0, epsilon=0.0, examples=40))
    variant, splits = one.variants[1], (grouped("train"), grouped("test"))
    _, maker = make_members(tmp_path / "s", one, ("dense", variant.key), splits=splits)
    frame = maker._remedies(variant.remedies)._gap.frame()
    assert frame["examples"].sum() == 40
    names = [groups] if isinstance(groups, str) else [*groups]
    weights, multipliers, labels, *columns = steps[-1]
    inputs = dict(zip(sorted({*names} - {"class"}), columns, strict=True))
    table = pd.DataFrame({"class": labels} | inputs)[names]
    text = table.map(lambda value: value.decode() if isinstance(value, bytes) else str(value))
    group = text.agg(", ".join, axis=1)
    own = pd.Series(multipliers, frame["group"])
    own = own.reindex(group.unique()).fillna(0)  # held out or not
    assert own.max() > 0
    counted = group.isin(frame["group"]).to_numpy()
    shares = (own / group.value_counts())[group].to_numpy()
    expected = 1 - own.sum() + len(group) * shares * counted
    np.testing.assert_allclose(weights, expected, rtol=1e-4, atol=1e-4)


def test_groups_that_the_data_do_not_have_are_refused_before_training():
    data = grouped("train")
    check_remedies(study("excess_gap"), (ExcessGapRemedy(groups=("old", "class")),), data)
    with pytest.raises(
        InputError, match="groups: got 'writer', expected columns of 'digits': old, subject, class"
    ):
        check_remedies(study("excess_gap"), (ExcessGapRemedy(groups="writer"),), data)
