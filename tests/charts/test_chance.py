"""The chart of chance: its histogram holds every permutation, its line stands at what was found."""

import dataclasses

import numpy as np
import pytest

from tests.builders.drawings import assert_fits
from tests.builders.populations import population
from tfaudit.audits.chance.chance import chance
from tfaudit.audits.chance.chart import BINS, chance_chart

FOUND = chance(population(1), population(2, hurt=[3]), permutations=400)


def panels(found):
    drawing = found.chart().to_dict()
    for panel in drawing["vconcat"]:
        bars, line = (drawing["datasets"][layer["data"]["name"]] for layer in panel["layer"])
        yield panel["title"], bars, line


def test_bars_and_lines_hold_what_was_found():
    for (title, bars, line), row in zip(
        panels(FOUND), FOUND.frame().to_dict("records"), strict=True
    ):
        assert sum(bar["share"] for bar in bars) == pytest.approx(1)
        assert line == [{"observed": row["observed"]}]
        assert title.startswith(
            f"{row['count']}: {row['observed']} observed, {row['expected']:.3g} by chance, p "
        )


def test_many_values_share_bars():
    wide = dataclasses.replace(
        FOUND.pies, counts=np.arange(5000), observed=2500, permutations=5000, p=0.0001
    )
    title, bars, _ = next(panels(dataclasses.replace(FOUND, pies=wide)))
    assert len(bars) <= BINS + 1
    assert sum(bar["share"] for bar in bars) == pytest.approx(1)
    assert {bar["high"] - bar["low"] for bar in bars} == {125}
    assert title.endswith("p < 0.001")


def test_a_thousand_by_chance_is_written_out():
    frame, distribution = FOUND.frame().assign(expected=1027.4), FOUND.distribution()
    titles = [panel["title"] for panel in chance_chart(frame, distribution).to_dict()["vconcat"]]
    assert all("1,027 by chance" in title for title in titles)


@pytest.mark.parametrize(
    "found",
    [
        FOUND,
        chance(population(1, members=1), population(2, members=1)),
        chance(population(1), population(1)),
    ],
    ids=["both", "single members", "nothing changes"],
)
def test_fits_a_narrow_page_in_any_theme(found):
    assert_fits(found.chart(), 420)
