"""Page 9: two models on the same images, whether the study holds one model a variant or many."""

import functools
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.builders.pages import HARMED, bodies, words
from tests.builders.studies import (
    NAMES,
    before_and_after,
    change_images,
    make_study,
    without_images,
)
from tfaudit import Predictions
from tfaudit.app.menu import PAGES
from tfaudit.audits.model_pair.model_pair import compare
from tfaudit.store.external import import_predictions
from tfaudit.store.store import open_store


@pytest.fixture(scope="module")
def singles(tmp_path_factory):
    return make_study(tmp_path_factory.mktemp("singles"), members=1)


def metrics(app):
    return {metric.label: metric.value for metric in app.metric}


@pytest.fixture
def opened(open_page, singles):
    """Opens the page of the study with choices."""
    return functools.partial(open_page, singles.directory, "compare", **HARMED)


def test_single_models_are_compared_at_once(opened, singles):
    app = opened()
    assert not app.error
    told = compare(*before_and_after(singles)).summary()
    assert metrics(app)["newly wrong"] == f"{told['negative_flips']:g}"
    assert metrics(app)["right stays right"] == f"{100 * told['btc']:.2f}\u00a0%"
    assert metrics(app)["top-1 after"] == f"{100 * told['accuracy_after']:.2f}\u00a0%"
    assert [box.key for box in app.selectbox] == ["reference", "class", "from", "to"]
    assert "training again changes is unknown" in words(app)
    assert "majority" not in words(app)


@pytest.mark.slow
def test_members_of_populations_are_chosen(open_page, store):
    app = open_page(store.directory, "compare", variant="fixed-point int8")
    assert [app.selectbox(key=key).options for key in ("before", "after")] == [[*"0123"]] * 2
    app.selectbox(key="before").set_value(1)
    app.selectbox(key="after").set_value(3).run()
    sides = store.predictions("dense", members=[1]), store.predictions("int8", members=[3])
    expected = compare(*sides).frame().sort_values(["change_p", "change_pp"], kind="stable")
    shown = app.dataframe[0].value
    assert list(shown["class"]) == list(expected["class"])
    np.testing.assert_allclose(shown["change_p"].astype(float), expected["change_p"], atol=5e-5)
    changed = store.predictions("dense").top1
    least = min((changed[i] != changed[j]).sum() for i in range(4) for j in range(i))
    assert any(
        "Training the baseline again changes" in c.value and f"({least} to " in c.value
        for c in app.caption
    )
    again = open_page(store.directory, "compare", variant="fixed-point int8", before="1", after="3")
    assert again.dataframe[0].value.equals(shown)


def test_any_two_variants_are_compared(opened, singles):
    app = opened(reference="fixed-point int8")
    sides = (singles.predictions(key) for key in ("int8", "magnitude-0.9"))
    expected = compare(*sides)
    assert metrics(app)["newly wrong"] == f"{expected.summary()['negative_flips']:g}"
    box = app.selectbox(key="reference")
    assert box.label == "magnitude 90 %, compared with"
    assert box.options == ["dense", "fixed-point int8"]
    assert "training again" not in words(app)
    flips = expected.flips_frame()
    before, after = flips[["before", "after"]].value_counts().idxmax()
    app.selectbox(key="from").set_value(before)
    app.selectbox(key="to").set_value(after).run()
    shown = app.dataframe[1].value
    assert set(shown["example"]) == set(
        flips.query("before == @before and after == @after")["example"]
    )


def test_models_of_two_studies_are_compared(open_page, singles, tmp_path, monkeypatch):
    """A study of other examples is not offered, nor is one that cannot be read; a click reads none of them again."""
    shutil.copytree(singles.directory, tmp_path / "new")
    shutil.copytree(singles.directory, tmp_path / "old")
    few = Predictions.from_top1([0, 1], [0, 1])
    import_predictions(tmp_path / "other", few, {"int8": few}, name="other")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/study.json").write_text("{")
    app = open_page(tmp_path, "compare", study="new", reference="old: magnitude 90 %", **HARMED)
    assert not app.error
    options = app.selectbox(key="reference").options
    assert options == ["dense", "fixed-point int8", *(f"old: {name}" for name in
                       ("dense", "magnitude 90 %", "fixed-point int8"))]  # fmt: skip
    assert metrics(app)["newly wrong"] == "0"
    assert "Both models predict the same class for every image" in words(app)
    opened = []

    def counted(directory, **options):
        opened.append(Path(directory).name)
        return open_store(directory, **options)

    monkeypatch.setattr("tfaudit.app.study_choice.open_store", counted)
    app.selectbox(key="reference").set_value("dense").run()
    assert opened == ["new"]


def test_flips_are_filtered_by_kind_and_class(opened, singles):
    flips = compare(*before_and_after(singles)).flips_frame()
    app = opened()
    assert set(app.dataframe[1].value["example"]) == set(flips["example"])
    app.segmented_control(key="kind").set_value("newly wrong").run()
    app.selectbox(key="class").set_value(NAMES[3]).run()
    wanted = flips[(flips["kind"] == "lost") & (flips["label"] == NAMES[3])]
    assert len(wanted) > 0
    assert set(app.dataframe[1].value["example"]) == set(wanted["example"])
    surest = wanted["probability_before"] * wanted["probability_after"]
    assert app.dataframe[1].value["example"].iloc[0] == wanted["example"][surest.idxmax()]
    pictures = "".join(bodies(app))
    assert pictures.count("<img") == min(12, len(wanted))
    assert "<script>" not in pictures


def test_the_url_opens_the_same_view(opened, singles):
    app = opened(kind="newly correct", **{"class": NAMES[1]})
    shown = app.dataframe[1].value if len(app.dataframe) > 1 else []
    flips = compare(*before_and_after(singles)).flips_frame()
    assert len(shown) == ((flips["kind"] == "won") & (flips["label"] == NAMES[1])).sum()


def test_without_a_compressed_model(open_page, tmp_path):
    missing = {(key, member) for key in ("magnitude-0.9", "int8") for member in range(4)}
    app = open_page(make_study(tmp_path, missing=missing).directory, "compare")
    assert "no compressed variant" in app.info[0].value


def test_no_image_stored(open_page, tmp_path):
    store = make_study(tmp_path, members=1)
    change_images(store, without_images)
    app = open_page(store.directory, "compare")
    assert not app.error


@pytest.mark.slow
def test_no_page_of_single_models_speaks_of_majorities(open_page, singles):
    for name in PAGES:
        app = open_page(singles.directory, name)
        assert "majority" not in words(app), name
