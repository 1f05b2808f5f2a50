"""How classes are numbered plays no part on the first page of the viewer, but for what the deployed argmax does."""

import numpy as np
import pytest

from tests.builders.int8_scores import ORDERS, without_argmax, write_study
from tfaudit.predictions import Predictions
from tfaudit.store.external import import_predictions


@pytest.mark.slow
def test_the_first_page_says_the_same(tmp_path, open_page):
    def words(i):
        write_study(tmp_path / str(i), ORDERS[i], members=4)
        page = open_page(tmp_path / str(i), "overview")
        kinds = ("markdown", "caption", "info", "success", "warning")
        return [without_argmax(element.value) for kind in kinds for element in getattr(page, kind)]

    plain = words(0)
    assert any("share exactly the best score" in text for text in plain)
    assert all(words(i) == plain for i in range(1, len(ORDERS)))


@pytest.mark.slow
def test_every_page_begins_with_a_doubt_about_the_order(tmp_path, open_page):
    labels = np.repeat(np.arange(3), 30)
    swapped = Predictions.from_top1(labels, np.array([0, 2, 1])[labels])
    import_predictions(tmp_path, swapped, {"int8": swapped}, name="study")
    app = open_page(tmp_path, "compare")
    alert = app.get("html")[0].proto.body
    assert "Cannot judge. The baseline is right on 33.3 % of the images" in alert
