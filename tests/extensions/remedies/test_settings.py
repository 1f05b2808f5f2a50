"""Remedies as settings of variants: keys, titles, JSON, and studies that know none."""

import pytest

from tests.builders.refusals import assert_refused
from tests.builders.study_json import after_json
from tfaudit import Pruned, Quantized, Study, Training
from tfaudit.extensions.remedies.settings import DistillationRemedy
from tfaudit.study.remedies import REMEDIES
from tfaudit.study.variants import Variant

FINETUNED = {"sparsity": 0.9, "treatment": "finetune"}
DISTILLATION = DistillationRemedy(temperature=2.0)


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
        DistillationRemedy(temperature=2.0, focus=[0.5, 2]),
    ],
    ids=str,
)
def test_a_study_with_a_remedy_is_the_same_after_json(remedy):
    one = study(Pruned(**FINETUNED), Pruned(**FINETUNED, remedy=remedy))
    again = after_json(one)
    assert again == one
    assert one.difference(again) is None
    control, treated = again.variants
    assert treated.control == control
    assert treated.key.startswith(f"{control.key}-remedy=")
    assert set(treated.key) <= set("abcdefghijklmnopqrstuvwxyz0123456789._=+-")
    assert len({one.titles[v.key] for v in one.variants}) == 2


def test_keys_and_titles_name_what_is_off_its_default():
    variant = Pruned(**FINETUNED, remedy=DistillationRemedy(weight=2.0, focus=(0.5, 2)))
    assert variant.key.endswith("-remedy=distillation.weight=2.focus=0.5_2")
    assert variant.title == "magnitude 90 % finetune, distilled"
    assert isinstance(variant, Variant)


@pytest.mark.parametrize(
    ("remedies", "words"),
    [
        ([(), DISTILLATION], ["", ", distilled"]),
        (["distillation", DISTILLATION], [", distilled", ", distilled (temperature 2)"]),
    ],
)
def test_a_study_names_settings_of_remedies_only_where_words_do_not_tell_them_apart(
    remedies, words
):
    one = study(*[Pruned(**FINETUNED, remedy=remedy) for remedy in remedies])
    assert [*one.titles.values()] == ["dense", *[f"magnitude 90 %{word}" for word in words]]
    series = [variant.pruning_method(*one.varied_settings) for variant in one.variants]
    assert series == [f"magnitude{word}" for word in words]
    assert len(one.smoke().variants) == len(remedies)


def test_smoke_keeps_one_of_each_remedy():
    training = Training(epochs=3, validation=0.1)
    variants = [
        Pruned(level, treatment="finetune", remedy=r)
        for level in (0.5, 0.9)
        for r in ((), "distillation")
    ]
    small = study(*variants, training=training, retraining=training).smoke()
    assert [bool(variant.remedies) for variant in small.variants] == [False, True]
    assert small.retraining.validation == 0


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (Pruned, {"remedy": "magic"}, "remedy: got 'magic', expected 'distillation', or"),
        (
            Pruned,
            {"remedy": ("distillation",) * 2},
            "remedy: got .*, expected remedies that differ",
        ),
        (
            Pruned,
            {"remedy": {"name": "distillation", "heat": 2}},
            "remedy: got 'distillation' with heat, expected settings temperature, weight, focus",
        ),
        (
            Pruned,
            {"remedy": "distillation", "treatment": "one_shot"},
            "remedy: got 'distillation', expected none unless",
        ),
        (DistillationRemedy, {"temperature": 0}, "temperature: got 0, expected a number above 0"),
        (DistillationRemedy, {"focus": (1, -1)}, r"focus: got \(1, -1\), expected \(alpha, beta\)"),
        (
            Quantized,
            {"kind": "float16", "float_layers": "last"},
            r"float_layers: got 'last', expected \(\) unless 'int4'",
        ),
        (
            Quantized,
            {"kind": "int8", "float_layers": "a"},
            "float_layers: got 'a', expected 'last' or a tuple of names of layers",
        ),
        (
            Quantized,
            {"kind": "int2"},
            "kind: got 'int2', expected 'float32', 'float16'",
        ),
        (
            Quantized,
            {"kind": "int8", "percentile": 40},
            "percentile: got 40, expected above 50 and at most 100",
        ),
        (
            Quantized,
            {"kind": "float16", "percentile": 99},
            "percentile: got 99, expected 100 unless 'int8'",
        ),
        (Quantized, {"kind": "float16", "sparse": 2}, "sparse: got 2, expected True or False"),
        (
            Quantized,
            {"kind": "float16", "per_channel": False},
            "per_channel: got False, expected True",
        ),
        (Quantized, {"kind": "float16", "io": "int8"}, "io: got 'int8', expected 'float32' unless"),
        (
            Quantized,
            {"kind": "int8", "io": "int8", "float_layers": "last"},
            "float_layers: got 'last', expected \\(\\) unless 'int4', or 'int8' with io 'float32'",
        ),
        (
            Quantized,
            {"kind": "float16", "calibration": "first"},
            "calibration: got 'first', expected 'drawn' for a kind without calibration",
        ),
    ],
)
def test_settings_that_do_not_fit_are_refused(kind, settings, message):
    assert_refused(f"^{message}", kind, **(FINETUNED if kind is Pruned else {}) | settings)


def test_studies_compare_what_compress_tries():
    pruned = Pruned(0.9, treatment="one_shot")
    clipped = Quantized("int8", percentile=99.9)
    sparse = Quantized("float16", sparse=True, after=pruned.key)
    whole = Quantized("int8", io="int8")
    coarse = Quantized("int8", per_channel=False)
    first = Quantized("int8", calibration="first")
    one = study(pruned, clipped, sparse, whole, coarse, first)
    assert after_json(one) == one
    assert {variant.key: variant.title for variant in (clipped, sparse, whole, coarse, first)} == {
        "int8-calibration=first": "fixed-point int8, first training examples",
        "int8-io=int8": "fixed-point int8, int8 inputs and outputs",
        "int8-per_channel=False": "fixed-point int8, one scale per kernel",
        "int8-percentile=99.9": "fixed-point int8, percentile 99.9",
        f"float16-sparse=True-after={pruned.key}": f"float16, sparse, of {pruned.key}",
    }
    assert one.is_made_from_dense(sparse.key)
    assert_refused(
        r"variants: got 'magnitude-0\.9.*', expected a parent before", study, sparse, pruned
    )
