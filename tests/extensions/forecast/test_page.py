"""The page Forecast: the images with the smallest margins, whether they change, pictures and texts."""

import pytest

from tests.builders.pages import bodies, cards, words
from tests.builders.studies import before_and_after, change_images, make_study
from tfaudit.audits.flips.image_changes import UNCHANGED, image_changes
from tfaudit.audits.prediction_counts.prediction_counts import count_predictions
from tfaudit.extensions.forecast.forecast import forecast


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_study(tmp_path_factory.mktemp("forecast"))


@pytest.mark.parametrize("key", ["int8", "magnitude-0.9"])
def test_the_page_counts_the_changes_also_where_members_are_no_pairs(opened, store, key):
    changes = image_changes(*before_and_after(store, key, count_predictions))
    changed = changes["kind"] != UNCHANGED
    first = forecast(store.predictions("dense")).frame()["index"][:100]
    app = opened(variant=store.study.titles[key])
    told = f"{changed[first].sum()} of these and {changed.sum()} of all 200 examples change"
    assert told in words(app)
    assert len(cards(app)) == 24


def test_before_anything_is_compressed_the_images_are_there(open_page, tmp_path):
    missing = {(key, 0) for key in ("int8", "magnitude-0.9")}
    dense = make_study(tmp_path, members=1, missing=missing)
    app = open_page(dense.directory, "forecast")
    assert "no compressed variant" in app.info[0].value
    assert len(cards(app)) == 24
    assert not any("<dt>after</dt>" in card for card in cards(app))
    assert "change their prediction" not in words(app)


def test_texts_are_shown_as_texts(open_page, tmp_path):
    texts = make_study(tmp_path, members=2)
    change_images(texts, lambda images: [b"a <b>line</b>" for _ in images])
    app = open_page(texts.directory, "forecast", variant="fixed-point int8")
    assert "Look at these 100 examples first" in words(app)
    assert all('<p class="tfa-text">a &lt;b&gt;line' in card for card in cards(app))
    assert not any("<img" in body for body in bodies(app))
