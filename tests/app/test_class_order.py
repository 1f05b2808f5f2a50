"""How classes are numbered plays no part on the first page of the viewer, but for what the deployed argmax does."""

import pytest

from tests.builders.int8_scores import ORDERS, without_argmax, write_study


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
