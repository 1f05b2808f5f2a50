"""Page 4: all variants, one of them, and one image under corruption; numbers are those of the audit."""

import shlex

import numpy as np
import pytest

from tests.builders.corrupted_studies import corrupted_study
from tests.builders.pages import HARMED, bodies, words
from tests.builders.studies import make_study
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
def test_all_variants_and_the_classes_of_one(opened, found):
    app = opened()
    assert not app.error
    means, *tables = (each.value for each in app.dataframe)
    assert list(means["title"]) == ["magnitude 90 %", "fixed-point int8"]
    assert means["mce"].iloc[0] == pytest.approx(found.summary()["mce"])
    (rows,) = (table for table in tables if "published_p" in table and "class" not in table)
    ours = rows[rows["title"] == "magnitude 90 %"]
    np.testing.assert_allclose(ours["relative_change"], found.frame()["relative_change"])
    app = opened(corruptions="Classes", **HARMED)
    assert not app.error
    cells, severities = (each.value for each in app.dataframe)
    assert len(cells) == len(found.class_frame())
    assert cells["change_p"].is_monotonic_increasing
    np.testing.assert_allclose(severities["change_pp"], found.severity_frame()["change_pp"])


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
    app = open_page(store.directory, "corruptions", corruptions="One image")
    assert not app.error
    assert app.info
    assert not open_page(store.directory, "corruptions").error
