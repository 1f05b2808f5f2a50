"""Page 9: two models on the same images, whether the study holds one model a variant or many."""

import functools

import numpy as np
import pytest

from tests.builders.pages import HARMED, bodies, words
from tests.builders.studies import (
    NAMES,
    before_and_after,
    make_study,
)
from tfaudit.app.menu import PAGES
from tfaudit.audits.model_pair.model_pair import compare


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


@pytest.mark.nightly  # the page of two models says so every day
def test_no_page_of_single_models_speaks_of_majorities(open_page, singles):
    for name in PAGES:
        app = open_page(singles.directory, name)
        assert "majority" not in words(app), name
