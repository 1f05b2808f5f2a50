"""Studies: stable keys, JSON both ways, seeds, and invalid settings."""

import dataclasses
import itertools
import pickle

import pytest

from tests.builders.refusals import assert_refused
from tests.builders.study_json import after_json
from tfaudit import Pruned, Quantized, Study, Training
from tfaudit.study.iterative import rounds


def a_study(**changes):
    settings = dict(
        name="s",
        dataset="digits",
        model="digits_convnet",
        training=Training(
            epochs=2,
            learning_rate=((0, 0.1), (1, 0.01)),
            weight_decay=1e-4,
            decay_biases=("logits",),
        ),
        variants=(Pruned(0.5, layers=("conv1",)), Pruned(0.9, scope="global"), Quantized("int8")),
        model_options={"width": 4},
    )
    return Study(**{**settings, **changes})


def test_uncounted_biases_stand_in_json_key_and_title():
    counted, uncounted = Pruned(ratio=50), Pruned(ratio=50, count_biases=False)
    study = a_study(variants=(counted, uncounted))
    assert after_json(study) == study
    assert study.titles == {
        "dense": "dense",
        "magnitude-r50": "magnitude ratio 50",
        "magnitude-r50-count_biases=False": "magnitude ratio 50 biases uncounted",
    }


def test_recalibrated_statistics_stand_in_key_and_title_and_change_no_seed():
    plain, recalibrated = (
        Pruned(0.5, treatment="finetune", batch_norm=how) for how in ("moving", "recalibrated")
    )
    study = a_study(variants=(plain, recalibrated))
    assert after_json(study) == study
    assert study.titles == {
        "dense": "dense",
        "magnitude-0.5-treatment=finetune": "magnitude 50 %",
        "magnitude-0.5-treatment=finetune-batch_norm=recalibrated": "magnitude 50 % recalibrated",
    }
    one, other = (study.member_seed(variant.key, 3) for variant in study.variants)
    assert one == other == a_study(variants=(plain,)).member_seed(plain.key, 3)


def test_forked_variants_have_the_seeds_of_the_dense_one_and_are_its_pairs():
    late, at_once = Pruned(0.5, begin=0.2), Pruned(0.9)
    int8 = Quantized("int8", after=late.key)
    variants = (late, at_once, Pruned(0.5, begin=0.2, treatment="finetune"), int8)
    plain = a_study(variants=variants)
    study = dataclasses.replace(plain, fork=True)
    assert study.forked == (late,)
    assert plain.forked == ()
    assert after_json(study) == study
    assert plain.difference(study) == "its fork is false, not true"
    dense = study.member_seed("dense", 3)
    assert study.member_seed(late.key, 3) == dense != plain.member_seed(late.key, 3)
    assert study.member_seed(at_once.key, 3) == plain.member_seed(at_once.key, 3) != dense
    assert [v.key for v in variants if not study.is_made_from_dense(v.key)] == [at_once.key]
    assert not plain.is_made_from_dense(int8.key)
    assert [late.dense_steps(steps) for steps in (1, 4, 5, 10, 100)] == [0, 0, 0, 1, 19]


def test_titles_are_computed_once_and_do_not_change_the_study():
    study = a_study()
    fresh = Study.from_json(study.to_json())
    assert study.titles is study.titles
    assert study.varied_settings is study.varied_settings
    assert fresh == study == pickle.loads(pickle.dumps(study))
    assert study.to_json() == fresh.to_json()
    other = dataclasses.replace(study, variants=study.variants[:1])
    assert list(other.titles) == ["dense", study.variants[0].key]


def test_keys_are_stable_and_name_the_changed_settings():
    assert [v.key for v in a_study().all_variants] == [
        "dense",
        "magnitude-0.5-layers=conv1",
        "magnitude-0.9-scope=global",
        "int8",
    ]
    assert Pruned(0.30).key == "magnitude-0.3"


def test_seeds_differ_between_members_and_variants_and_ignore_the_rest():
    study = a_study()
    seeds = {study.member_seed(v.key, member) for v in study.all_variants for member in range(30)}
    assert len(seeds) == 4 * 30
    fewer = a_study(variants=(Quantized("int8"),), population=3)
    assert fewer.member_seed("int8", 2) == study.member_seed("int8", 2)
    assert a_study(seed=1).member_seed("dense", 0) != study.member_seed("dense", 0)


def test_smoke_is_small_and_has_one_level_of_every_pruning_method():
    levels = (
        Pruned(0.5),
        Pruned(0.9),
        Pruned(0.9, scope="global"),
        *rounds(3, 0.2),
        Quantized("int8"),
    )
    smoke = a_study(
        variants=levels, smoke_options={"width": 1}, retraining=Training(epochs=9)
    ).smoke()
    assert (smoke.population, smoke.training.steps, smoke.limit) == (2, 8, 256)
    assert smoke.retraining.steps == 4
    assert smoke.model_options == {"width": 1}
    assert smoke.variants == (levels[0], levels[2], levels[3], levels[-1])


def test_conditions_are_part_of_the_study_and_may_change():
    conditions = {
        "corruptions": ("fog", "snow"),
        "severities": (1, 3, 5),
        "benchmarks": ("imagenet_a",),
    }
    study = a_study(**conditions, corrupted_members=2, corrupted_variants=("int8",))
    assert after_json(study) == study
    corrupted = itertools.product(("fog", "snow"), (1, 3, 5))
    assert study.conditions == (*corrupted, ("imagenet_a", 0))
    assert a_study().conditions == ()
    assert a_study().difference(study) is None
    assert a_study(seed=1).difference(study) == "its seed is 1, not 0"
    assert a_study(corruptions=["fog"]).corruptions == ("fog",)
    old = {
        name: value
        for name, value in a_study().to_json().items()
        if name not in {*conditions, "corrupted_members"}
    }
    assert Study.from_json(old) == a_study()


def test_smoke_keeps_one_corruption_and_no_benchmark():
    study = a_study(
        corruptions=("fog", "snow"),
        benchmarks=("imagenet_a",),
        corrupted_variants=("dense", "int8"),
    )
    assert study.smoke().conditions == (("fog", 1), ("fog", 5))
    assert study.smoke().corrupted_variants == ("dense", "int8")
    levels = (Pruned(0.5), Pruned(0.9), Quantized("int8"))
    fewer = a_study(variants=levels, corrupted_variants=("magnitude-0.9", "int8"), severities=(3,))
    assert fewer.smoke().corrupted_variants == ("int8",)
    assert fewer.smoke().severities == (3,)
    assert fewer.smoke().conditions == ()


def test_steps_count_the_short_batch():
    assert Training(epochs=3, batch_size=100).total_steps(250) == 9
    assert Training(steps=7).total_steps(250) == 7
    assert Training(epochs=3, batch_size=100, validation=0.2).total_steps(250) == 6
    assert Training(epochs=3, batch_size=100, across_epochs=True).total_steps(250) == 8


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Training(), "epochs, steps"),
        (
            lambda: Training(epochs=1, optimizer=7),
            "optimizer: got 7, expected a name, such as 'adamw', or a Keras opt",
        ),
        (lambda: Training(epochs=1, learning_rate=((1, 0.1),)), "epochs that rise from 0"),
        (lambda: Training(epochs=1, keep="best"), "'best' only with validation > 0"),
        (lambda: Pruned(1.0), r"sparsity: got 1.0, expected a share in \(0, 1\)"),
        (lambda: Pruned(0.5, begin=0.8, end=0.2), "begin < end"),
        (
            lambda: Pruned(0.5, batch_norm=True),
            "batch_norm: got True, expected 'moving' or 'recalibrated'",
        ),
        (
            lambda: Pruned(0.5, count_biases=False),
            "count_biases: got False, expected True unless a ratio is given",
        ),
        (lambda: a_study(variants=(Pruned(0.5), Pruned(0.5))), "variants that differ"),
        (lambda: a_study(population=0), "population: got 0, expected 1 or more"),
        (lambda: a_study(population=10**9), "population: got 1000000000, expected 1 to 100,000"),
        (lambda: Training(epochs=10**12), "epochs: got 1000000000000, expected 0 to 1,000,000"),
        (
            lambda: Study.from_json(
                {**a_study().to_json(), "variants": [Pruned(0.5).to_json()] * 20_000}
            ),
            "variants: got 20000, expected at most 10,000",
        ),
        (lambda: a_study().variant("nope"), "variant: got 'nope', expected 'dense"),
        (
            lambda: a_study(corruptions=("mist",)),
            "corruptions: got 'mist', expected 'gaussian_noise",
        ),
        (
            lambda: a_study(corruptions=("fog",), severities=()),
            r"severities: got \(\), expected one or more",
        ),
        (
            lambda: a_study(corruptions=("fog",), seed=-1),
            r"seed: got -1, expected 0 to 2\*\*63 - 1 if images are corr",
        ),
        (
            lambda: a_study(fork=True),
            "fork: got True, expected False, or a tfaudit.Training and a gradual variant with begin > 0",
        ),
        (
            lambda: a_study(corrupted_variants=("int9",)),
            "corrupted_variants: got 'int9', expected 'dense', 'magnitude-0.5",
        ),
        (lambda: Study.from_json({"name": "x"}), "expected a description that this version"),
    ],
)
def test_bad_settings_are_one_clear_line(make, message):
    assert_refused(message, make)


def test_seals_of_members_follow_what_made_them(tmp_path):
    """What a continued study may change, or where its files lie, changes no seal; the seed changes all of them."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "net.py").write_text("def build():\n    return None\n")
    study, moved = (a_study(model=f"{tmp_path}/{folder}/net.py:build") for folder in ("a", "b"))
    seals = study.member_seals
    assert moved.member_seals == seals
    assert dataclasses.replace(study, population=9, corruptions=("fog",)).member_seals == seals
    assert Study.from_json(study.to_json()).member_seals == seals
    more = dataclasses.replace(study, variants=(*study.variants, Pruned(0.123)))
    assert {key: more.member_seals[key] for key in seals} == seals
    for changes in ({"seed": 5}, {"dataset": "mnist"}, {"training": Training(epochs=7)}):
        other = dataclasses.replace(study, **changes)
        assert not set(other.member_seals.values()) & set(seals.values())
