"""Training for int8 as a setting of a study."""

import pytest

from tests.builders.refusals import assert_refused
from tests.builders.study_json import after_json
from tfaudit import Quantized, Study, Training
from tfaudit.study import QuantizationAwareRemedy
from tfaudit.study.variants import VARIANTS


def study(*variants):
    training = Training(epochs=1)
    return Study(
        name="s", dataset="digits", model="digits_convnet", training=training, variants=variants
    )


def test_int8_may_be_trained_for_first():
    one = study(Quantized("int8"), Quantized("int8", remedy=QuantizationAwareRemedy(momentum=0.9)))
    again = after_json(one)
    assert again == one
    plain, aware = again.variants
    assert aware.control == plain
    assert (plain.key, aware.key) == ("int8", "int8-remedy=quantization_aware.momentum=0.9")
    assert aware.title == "fixed-point int8, quantization-aware (momentum 0.9)"


def test_layers_of_int8_may_stay_in_float():
    last, named = (
        Quantized("int8", float_layers="last"),
        Quantized("int8", float_layers=["conv1", "last"]),
    )
    aware = Quantized("int8", float_layers="last", remedy="quantization_aware")
    one = study(Quantized("int8"), last, named, aware)
    assert after_json(one) == one
    assert {variant.key: variant.title for variant in one.variants} == {
        "int8": "fixed-point int8",
        "int8-float_layers=last": "fixed-point int8, last layer float",
        "int8-float_layers=conv1+last": "fixed-point int8, conv1 float, last float",
        "int8-remedy=quantization_aware-float_layers=last": "fixed-point int8, last layer float, quantization-aware",
    }
    assert aware.control == last
    assert VARIANTS["quantization"](kind="int8") == one.variants[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"kind": "int8", "remedy": "magic"},
            "remedy: got 'magic', expected 'quantization_aware', or",
        ),
        (
            {"kind": "float16", "remedy": "quantization_aware"},
            "remedy: got 'quantization_aware', expected none unless 'int8'",
        ),
        (
            {"kind": "int8", "remedy": "quantization_aware", "after": "magnitude-0.9"},
            "remedy: got .*, expected none unless of dense members, up to the 100th percentile, per channel",
        ),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, message):
    assert_refused(f"^{message}", Quantized, **settings)
