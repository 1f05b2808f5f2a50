"""Page 4: changes, severities, classes, exemplars and one image under corruption; numbers are those of the audit."""

import shlex

import numpy as np
import pytest

from tests.builders.corrupted_studies import corrupted_study
from tests.builders.pages import HARMED, bodies, words  # noqa: F401 - choices of `opened`
from tests.builders.studies import (
    NAMES,
    make_study,
)
from tfaudit.analysis.study_audit import StudyAudit


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return corrupted_study(tmp_path_factory.mktemp("corrupted"), benchmarks=("imagenet_a",))


@pytest.fixture(scope="module")
def found(store):
    return StudyAudit.read(store).robustness("magnitude-0.9")


def test_a_study_without_corruptions_says_what_adds_them(open_page, tmp_path):
    directory = tmp_path / "it's"
    store = make_study(directory, members=2)
    app = open_page(directory, "corruptions")
    assert "evaluates the trained models of small" in app.info[0].value
    lines, command = (code.value for code in app.code)
    assert shlex.split(command) == ["tfaudit", "run", "small_corrupted.py", "--out", str(directory)]
    exec(lines, namespace := {})
    store.study.check_continuation(namespace["study"], directory)
    assert namespace["study"].conditions


@pytest.mark.slow
def test_means_over_severities_and_one_severity(opened, found):
    app = opened()
    means, rows = (each.value for each in app.dataframe)
    assert list(means["title"]) == ["magnitude 90 %", "fixed-point int8"]
    assert means["mce"].iloc[0] == pytest.approx(found.summary()["mce"])
    ours = rows[rows["title"] == "magnitude 90 %"]
    np.testing.assert_allclose(
        ours["relative_change"], found.frame().query("k == 1")["relative_change"]
    )
    app.segmented_control(key="severity").set_value("3")
    app.segmented_control(key="rank").set_value("top-5").run()
    rows = app.dataframe[1].value
    expected = found.severity_frame().query("k == 5 and severity == 3")
    np.testing.assert_allclose(
        rows[rows["title"] == "magnitude 90 %"]["change_pp"], expected["change_pp"]
    )
    again = opened(severity="3", rank="top-5")
    assert again.dataframe[1].value.equals(rows)


def test_classes_are_found_by_name(opened, found):
    app = opened(corruptions="Classes")
    assert len(app.dataframe[0].value) == len(found.class_frame())
    assert app.dataframe[0].value["change_p"].is_monotonic_increasing
    app.multiselect(key="hit").set_value([NAMES[3]]).run()
    rows = app.dataframe[0].value
    assert set(rows["class"]) == {NAMES[3]}
    expected = found.class_frame()[found.class_frame()["class"] == NAMES[3]]
    assert sorted(rows["relative_pp"]) == sorted(expected["relative_pp"])
    app.segmented_control(key="cells").set_value("Relative to accuracy").run()
    assert not app.error


def test_one_image_is_the_one_that_is_lost_most_and_another_can_be_chosen(opened, store, found):
    app = opened(corruptions="One image", corruption="fog")
    lost = found.lost_first["fog"]
    box = app.selectbox(key="picture")
    position = int(np.argmax(lost))
    assert box.value == position
    page = "".join(bodies(app))
    assert page.count("<img") == 3
    assert "<script>" not in page
    population = store.predictions("magnitude-0.9", "fog-3")
    votes = np.bincount(population.top1[:, position], minlength=5)
    assert f"{25 * votes.max()}\u00a0%" in page
    assert f"lost at {lost[position]} severit" in words(app)
    app.selectbox(key="picture").set_value(0).run()
    assert "".join(bodies(app)) != page
    assert "test-0" in "".join(bodies(app))


@pytest.mark.slow
def test_other_images_alone_have_no_strip_and_no_exemplars(open_page, tmp_path):
    store = corrupted_study(tmp_path, corruptions=(), benchmarks=("imagenet_a",))
    for view in ("Severities", "One image", "Exemplars"):
        app = open_page(store.directory, "corruptions", corruptions=view)
        assert not app.error
        assert app.info
    assert not open_page(store.directory, "corruptions").error
