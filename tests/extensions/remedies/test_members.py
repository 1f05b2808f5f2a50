"""Members that are retrained with remedies: made, stored, and the same again."""

import pytest

from tests.builders.made_members import make_members
from tests.builders.nightly import first_and_nightly
from tests.builders.operators import operators
from tests.builders.refusals import assert_refused
from tests.builders.small_stores import small_study
from tfaudit import Pruned, Quantized, Training
from tfaudit.extensions.remedies.settings import DistillationRemedy

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
    one = study(DistillationRemedy(weight=2.0))
    _, plain, distilled = (variant.key for variant in one.all_variants)
    store, _ = make_members(tmp_path / "all", one, members=(0, 1))
    sparsities = [store.record(key, 1)["sparsity"] for key in (plain, distilled)]
    assert sparsities[0] == pytest.approx(sparsities[1])
    assert outcome(store, distilled, 1) != outcome(store, plain, 1)
    alone, _ = make_members(tmp_path / "alone", one, (distilled,), (1,), parents=store)
    assert outcome(alone, distilled, 1) == outcome(store, distilled, 1)


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
    variant = Quantized("int8", float_layers=kept, remedy=remedy)
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
    one = study(variants=(Quantized("int8", float_layers=("none",)),))
    assert_refused(
        "float_layers: got none, expected names of layers, such as",
        make_members,
        tmp_path / "s",
        one,
        ["dense"],
    )
