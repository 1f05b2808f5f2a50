"""Remedies as settings of variants: keys, titles, JSON, and studies that know none."""

import json

import pytest

from tests.builders.refusals import assert_refused
from tfaudit import InputError, Pruned, Quantized, Study, Training
from tfaudit.study.remedies import (
    REMEDIES,
    DistillationRemedy,
    ExcessGapRemedy,
    QuantizationAwareRemedy,
    remedies_of,
)
from tfaudit.study.variants import VARIANTS, Variant

FINETUNED = {"sparsity": 0.9, "treatment": "finetune"}


def study(*variants, **settings):
    settings = {
        "name": "s",
        "dataset": "digits",
        "model": "digits_convnet",
        "training": Training(epochs=1),
        **settings,
    }
    return Study(**settings, variants=variants)


@pytest.mark.parametrize(
    "remedy",
    [
        *REMEDIES,
        ("distillation", "excess_gap"),
        DistillationRemedy(temperature=2.0, focus=[0.5, 2]),
        (ExcessGapRemedy(epsilon=0.02, every=10), DistillationRemedy(weight=0.25)),
        ExcessGapRemedy(groups="subject"),
        ExcessGapRemedy(groups=["sex", "class"]),
    ],
    ids=str,
)
def test_a_study_with_a_remedy_is_the_same_after_json(remedy):
    one = study(Pruned(**FINETUNED), Pruned(**FINETUNED, remedy=remedy))
    again = Study.from_json(json.loads(json.dumps(one.to_json())))
    assert again == one
    assert one.difference(again) is None
    control, treated = again.variants
    assert treated.control == control
    assert treated.key.startswith(f"{control.key}-remedy=")
    assert set(treated.key) <= set("abcdefghijklmnopqrstuvwxyz0123456789._=+-")
    assert len({one.titles[v.key] for v in one.variants}) == 2


def test_keys_and_titles_name_what_is_off_its_default():
    variant = Pruned(
        **FINETUNED, remedy=(DistillationRemedy(weight=2.0, focus=(0.5, 2)), "excess_gap")
    )
    assert variant.key.endswith("-remedy=distillation.weight=2.focus=0.5_2+excess_gap")
    assert variant.title == "magnitude 90 % finetune, both"
    assert isinstance(variant, Variant)


def test_a_study_names_settings_of_remedies_only_where_words_do_not_tell_them_apart():
    one = (
        (),
        "distillation",
        "excess_gap",
        (DistillationRemedy(temperature=2.0), ExcessGapRemedy(epsilon=0.02)),
    )
    titles = study(*[Pruned(**FINETUNED, remedy=remedy) for remedy in one]).titles
    words = ("", ", distilled", ", gap bounded", ", both")
    assert [*titles.values()] == ["dense", *[f"magnitude 90 %{word}" for word in words]]
    alike = ("distillation", DistillationRemedy(temperature=2.0))
    made = study(*[Pruned(**FINETUNED, remedy=remedy) for remedy in alike])
    distilled = ("distilled", "distilled (temperature 2)")
    assert [*made.titles.values()] == ["dense", *[f"magnitude 90 %, {word}" for word in distilled]]
    groups = [
        ExcessGapRemedy(rate=0.2, groups=of) for of in (None, "subject", ("subject", "class"))
    ]
    named = [*study(*[Pruned(**FINETUNED, remedy=remedy) for remedy in groups]).titles.values()]
    words = ("", " (groups subject)", " (groups subject and class)")
    assert named == ["dense", *[f"magnitude 90 %, gap bounded{word}" for word in words]]
    methods = {variant.pruning_method(*made.varied_settings) for variant in made.variants}
    assert methods == {f"magnitude, {word}" for word in distilled}  # series of charts
    assert len(made.smoke().variants) == 2
    shared = study(
        Pruned(0.5, **{"treatment": "finetune"}, remedy="distillation"),
        Pruned(**FINETUNED, remedy="distillation"),
    )
    assert shared.shared_settings == "finetune, distilled"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"remedy": "magic"}, "remedy: got 'magic', expected 'distillation' or 'excess_gap'"),
        ({"remedy": 3}, "remedy: got 3, expected 'distillation' or"),
        ({"remedy": ("excess_gap", "excess_gap")}, "remedy: got .*, expected remedies that differ"),
        (
            {"remedy": {"name": "distillation", "heat": 2}},
            "remedy: got 'distillation' with heat, expected settings temperature, weight, focus",
        ),
        (
            {"remedy": "distillation", "treatment": "one_shot"},
            "remedy: got 'distillation', expected none unless",
        ),
        (
            {"remedy": "distillation", "treatment": "gradual"},
            "remedy: got 'distillation', expected none unless",
        ),
    ],
)
def test_what_is_refused(settings, message):
    assert_refused(message, Pruned, **{**FINETUNED, **settings})


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (DistillationRemedy, {"temperature": 0}),
        (DistillationRemedy, {"weight": -1}),
        (DistillationRemedy, {"focus": (1, -1)}),
        (ExcessGapRemedy, {"epsilon": -1}),
        (ExcessGapRemedy, {"rate": 0}),
        (ExcessGapRemedy, {"every": 0}),
        (ExcessGapRemedy, {"examples": 0}),
        (ExcessGapRemedy, {"groups": ()}),
        (ExcessGapRemedy, {"groups": ("sex", 3)}),
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(kind, settings):
    assert_refused(f"^{next(iter(settings))}: got ", kind, **settings)


def test_remedies_of_nothing_are_none():
    assert remedies_of(None) == remedies_of([]) == ()


def test_smoke_keeps_one_of_each_remedy_and_holds_out_what_it_needs():
    training = Training(epochs=3, validation=0.1)
    variants = [
        Pruned(level, treatment="finetune", remedy=r)
        for level in (0.5, 0.9)
        for r in ((), "excess_gap")
    ]
    small = study(*variants, training=training, retraining=training).smoke()
    assert [bool(variant.remedies) for variant in small.variants] == [False, True]
    assert small.retraining.validation > 0
    assert (
        study(Pruned(0.5, treatment="finetune"), training=training, retraining=training)
        .smoke()
        .retraining.validation
        == 0
    )


def test_int8_may_be_trained_for_first():
    one = study(Quantized("int8"), Quantized("int8", remedy=QuantizationAwareRemedy(momentum=0.9)))
    again = Study.from_json(json.loads(json.dumps(one.to_json())))
    assert again == one
    assert again.variants[1].control == one.variants[0]
    assert [variant.key for variant in one.variants] == [
        "int8",
        "int8-remedy=quantization_aware.momentum=0.9",
    ]
    assert one.variants[1].title == "fixed-point int8, quantization-aware (momentum 0.9)"
    assert_refused(
        "remedy: got 'quantization_aware', expected none unless 'int8'",
        Quantized,
        "float16",
        remedy="quantization_aware",
    )
    assert_refused(
        "remedy: got 'magic', expected 'quantization_aware', or", Quantized, "int8", remedy="magic"
    )
    assert_refused(
        "remedy: got 'quantization_aware', expected 'distillation' or",
        Pruned,
        **FINETUNED,
        remedy="quantization_aware",
    )


def test_layers_of_int8_may_stay_in_float():
    last, named = (
        Quantized("int8", keep_float="last"),
        Quantized("int8", keep_float=["conv1", "last"]),
    )
    aware = Quantized("int8", keep_float="last", remedy="quantization_aware")
    one = study(Quantized("int8"), last, named, aware)
    assert Study.from_json(json.loads(json.dumps(one.to_json()))) == one
    assert {variant.key: variant.title for variant in one.variants} == {
        "int8": "fixed-point int8",
        "int8-keep_float=last": "fixed-point int8, last layer float",
        "int8-keep_float=conv1+last": "fixed-point int8, conv1 float, last float",
        "int8-remedy=quantization_aware-keep_float=last": "fixed-point int8, last layer float, quantization-aware",
    }
    assert aware.control == last
    assert VARIANTS["quantization"](kind="int8") == one.variants[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"kind": "float16", "keep_float": "last"},
            "keep_float: got 'last', expected () unless 'int8'",
        ),
        (
            {"kind": "int16x8", "keep_float": ("a",)},
            "keep_float: got ('a',), expected () unless 'int8'",
        ),
        (
            {"kind": "int8", "keep_float": "a"},
            "keep_float: got 'a', expected 'last' or a tuple of names of layers",
        ),
        (
            {"kind": "int4"},
            "kind: got 'int4', expected 'float32', 'float16', 'dynamic_range', 'int8' or 'int16x8'",
        ),
        (
            {"kind": "int8", "percentile": 40},
            "percentile: got 40, expected above 50 and at most 100",
        ),
        ({"kind": "float16", "percentile": 99}, "percentile: got 99, expected 100 unless 'int8'"),
        ({"kind": "float16", "sparse": 2}, "sparse: got 2, expected True or False"),
        (
            {"kind": "int8", "remedy": "quantization_aware", "after": "magnitude-0.9"},
            "remedy: got 'quantization_aware', expected none unless of dense members, up to the 100th percentile",
        ),
    ],
)
def test_settings_of_quantization_that_do_not_fit_are_refused(settings, message):
    with pytest.raises(InputError) as caught:
        Quantized(**settings)
    assert str(caught.value) == message


def test_studies_compare_what_compress_tries():
    pruned = Pruned(0.9, treatment="one_shot")
    clipped = Quantized("int8", percentile=99.9)
    sparse = Quantized("float16", sparse=True, after=pruned.key)
    one = study(pruned, clipped, sparse)
    assert Study.from_json(json.loads(json.dumps(one.to_json()))) == one
    assert {variant.key: variant.title for variant in (clipped, sparse)} == {
        "int8-percentile=99.9": "fixed-point int8, percentile 99.9",
        f"float16-sparse=True-after={pruned.key}": f"float16, sparse, of {pruned.key}",
    }
    assert one.is_made_from_dense(sparse.key)
    assert_refused(
        r"variants: got 'magnitude-0\.9.*', expected a parent before", study, sparse, pruned
    )
