"""Page 5: slopes of the chosen variants, classes of one, the questions of [R]; numbers are those of the audits."""

import json

import numpy as np
import pytest

from tests.builders.pages import words
from tests.builders.sections import cells
from tests.builders.simulated_studies import Truth, simulate
from tests.builders.studies import before_and_after, make_study
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.distortion.recall_distortion import distortion
from tfaudit.outlets.sections.distortion import distortion_section
from tfaudit.store.external import import_predictions
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
    alphas = [distortion(*before_and_after(store, v.key)).alpha.mean() for v in RATIOS]
    np.testing.assert_allclose(shown["alpha"], alphas)
    app.multiselect(key="variants").set_value(["random ratio 10"]).run()
    fewer = app.dataframe[0].value
    assert list(fewer["title"]) == ["random ratio 10"]
    np.testing.assert_allclose(
        fewer[["alpha", "corrected"]], shown[["alpha", "corrected"]].iloc[3:]
    )
    again = opened(variants=["random ratio 10"])
    assert list(again.dataframe[0].value["title"]) == ["random ratio 10"]


def test_page_and_report_have_one_slope_and_one_interval(open_page, tmp_path):
    truth = Truth(recalls={"Shirt": (0.4,)}, paired=True)
    before, after = simulate(truth, 0, members=3, images=200)
    _, other = simulate(Truth(recalls={"Shirt": (0.5,)}, paired=True), 0, members=3, images=200)
    variants = {"small": after, "smaller": other}
    directory = tmp_path / "study"
    store = import_predictions(directory, before, variants, name="two", paired=[*variants])
    study_audit = StudyAudit.read(store)
    app = open_page(store.directory, "distortion")
    shown = app.dataframe[0].value.set_index("title")
    table = cells(distortion_section(study_audit).tables[0])
    for row, (key, population) in enumerate(variants.items()):
        slope = distortion(before, population, paired=True).corrected
        value, low, high = (float(figure[0]) for figure in (slope.value, *slope.interval(0.95)))
        assert low < value < high
        ends = shown.loc[key, ["corrected", "corrected_low", "corrected_high"]].tolist()
        assert ends == pytest.approx([value, low, high])
        (sentence,) = (text for text in words(app).split("\n") if text.startswith(f"{key}: "))
        assert f"{value:.2f} " in sentence
        assert f"(95 %: {low:.2f} to {high:.2f})" in sentence
        assert f"{value:.3f}" == table["corrected"][row]


def test_a_panel_for_every_chosen_variant(opened):
    app = opened(distortion="Scatter matrix", variants=["random ratio 10"])
    assert not app.error
    assert len(app.get("vega_lite_chart")) == 1
    app.multiselect(key="variants").set_value(
        ["magnitude ratio 2", "magnitude ratio 10", "random ratio 2"]
    ).run()
    titles = [json.loads(chart.proto.spec)["title"][0] for chart in app.get("vega_lite_chart")]
    assert titles == ["magnitude ratio 2", "magnitude ratio 10", "random ratio 2"]


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


def test_many_points_are_means(opened, monkeypatch):
    monkeypatch.setattr("tfaudit.app.distortion.MOST_POINTS", 10)
    app = opened(distortion="Classes")
    assert not app.error
    assert "mean over 4 members" in words(app)


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


def test_single_members_have_slopes_and_no_boxes(open_page, tmp_path):
    app = open_page(make_study(tmp_path, members=1).directory, "distortion")
    assert not app.error
    assert not app.header
    assert "boxes and intervals need" in words(app)
    assert not app.columns


def test_quantized_variants_alone_answer_no_questions(open_page, tmp_path):
    app = open_page(
        make_study(tmp_path, variants=(Quantized("int8"),)).directory,
        "distortion",
        distortion="Questions",
    )
    assert "this study has none" in app.info[0].value


def test_what_is_said_of_all_variants_is_said_once(open_page, digits):
    app = open_page(digits, "distortion")
    assert words(app).count("there is no corrected slope.") == 1
