"""Page 5: slopes of the chosen variants, classes of one, the questions of [R]; numbers are those of the audits."""

import json

import numpy as np
import pytest

from tests.builders.pages import words
from tests.builders.studies import before_and_after, make_study
from tfaudit.audits.distortion.recall_distortion import distortion
from tfaudit.study.variants import Pruned, Quantized

RATIOS = tuple(
    Pruned(ratio=ratio, method=method, treatment="finetune")
    for method in ("magnitude", "random")
    for ratio in (2, 10)
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_study(tmp_path_factory.mktemp("ratios"), variants=RATIOS)


@pytest.mark.slow
def test_slopes_of_the_chosen_variants(opened, store):
    app = opened()
    shown = app.dataframe[0].value
    assert len(shown) == 4
    found = [distortion(*before_and_after(store, variant.key)) for variant in RATIOS]
    np.testing.assert_allclose(shown["alpha"], [one.alpha.mean() for one in found])
    ends = [[one.corrected.value[0], *np.ravel(one.corrected.interval(0.95))] for one in found]
    columns = ["corrected", "corrected_low", "corrected_high"]
    np.testing.assert_allclose(shown[columns].astype(float), ends)
    app.multiselect(key="variants").set_value(["random ratio 10"]).run()
    fewer = app.dataframe[0].value
    assert list(fewer["title"]) == ["random ratio 10"]
    np.testing.assert_allclose(
        fewer[["alpha", "corrected"]], shown[["alpha", "corrected"]].iloc[3:]
    )
    again = opened(variants=["random ratio 10"])
    assert list(again.dataframe[0].value["title"]) == ["random ratio 10"]


def test_no_variant_chosen(opened):
    app = opened()
    app.multiselect(key="variants").set_value([]).run()
    assert not app.error
    assert "Choose at least one variant" in words(app)


def test_classes_of_one_variant(opened, store):
    app = opened(distortion="Classes", variant="random ratio 10")
    found = distortion(*before_and_after(store, RATIOS[3].key))
    shown = app.dataframe[0].value.set_index("class")
    np.testing.assert_allclose(
        shown["rate_after"], found.classes_frame().set_index("class").loc[shown.index, "rate_after"]
    )
    assert "class in one member" in words(app)


def test_questions_about_levels_and_methods(opened):
    app = opened(distortion="Questions")
    rising, apart, variance = (frame.value for frame in app.dataframe)
    assert list(rising) == ["pair", "magnitude", "random"]
    assert list(apart["pair"]) == ["magnitude vs random"]
    assert list(variance) == ["method", "before", "2", "10"]
    for frame in app.dataframe:
        shown = {
            name: how for name, how in json.loads(frame.proto.columns).items() if name != "_index"
        }
        assert not any(how.get("hidden") for how in shown.values())
        assert all(how.get("label") in (name, None) for name, how in shown.items())
    assert (
        json.loads(app.dataframe[0].proto.columns)["magnitude"]["type_config"]["type"] == "text"
    )  # no p of 0


def test_quantized_variants_alone_answer_no_questions(open_page, tmp_path):
    app = open_page(
        make_study(tmp_path, variants=(Quantized("int8"),)).directory,
        "distortion",
        distortion="Questions",
    )
    assert "this study has none" in app.info[0].value
