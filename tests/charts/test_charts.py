"""Charts of classes, accuracy and difficulty, for ten classes and for a thousand; their inline SVG."""

import dataclasses
import io
import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from vl_convert import svg_to_png

from tests.builders.colour_vision import VISIONS, colour_difference, contrast
from tests.builders.drawings import texts
from tests.builders.populations import population
from tfaudit.audits.classes.classes import class_impact
from tfaudit.audits.summary.chart import accuracy_chart
from tfaudit.charts.rendering import chart_bytes, inline_svg
from tfaudit.charts.style import BETTER, GAIN, LOSS, SLATE, WORSE
from tfaudit.predictions import Predictions

BEFORE, AFTER = population(1), population(2, hurt=[3])


@pytest.mark.parametrize("pair", [(LOSS, GAIN), (WORSE, BETTER)])
def test_colours_of_a_pair_are_readable_with_any_colour_vision_on_any_page(pair):
    for colour in (*pair, SLATE):
        assert all(contrast(colour, page) >= 3 for page in ("#ffffff", "#0e1117", "#16181c"))
    for vision in VISIONS.values():
        assert colour_difference(*pair, vision) > 40
        assert all(colour_difference(colour, SLATE, vision) > 10 for colour in pair)


def accuracies(spread):
    rows = [
        {"title": title, "variant": title, "member": m, "k": 1, "accuracy": centre + 0.001 * m}
        for title, centre in (("dense", 0.9), ("pruned", 0.9 - spread))
        for m in range(5)
    ]
    return pd.DataFrame(rows)


def test_scales_are_shared_unless_that_would_squeeze_the_populations():
    assert "top-1 accuracy, %" in texts(accuracy_chart(accuracies(0.01)))
    apart = accuracy_chart(accuracies(0.5))
    assert "top-1 accuracy of the members, points from their mean" in texts(apart)
    assert re.findall("mean [0-9.]+ %", inline_svg(apart, "")) == ["mean 90.20 %", "mean 40.20 %"]


def test_a_shorter_drawing_is_the_same_picture(monkeypatch, rng):
    """Colours of pixels differ where a line moves by hundredths of them; text stays as it is, whatever it says."""
    impact = dataclasses.replace(
        class_impact(BEFORE, AFTER), class_names=(' role="b"', ' opacity="1"', "0.12345", "d", "e")
    )
    members = pd.DataFrame(
        {"title": "dense", "member": range(50), "k": 1, "accuracy": rng.random(50)}
    )
    for chart in (impact.chart(), accuracy_chart(members)):
        short = inline_svg(chart, "")
        with monkeypatch.context() as patch:
            patch.setattr("tfaudit.charts.rendering._shortened", lambda svg: svg)
            whole = inline_svg(chart, "")
        assert len(short) < 0.9 * len(whole)
        assert list(ET.fromstring(short).itertext()) == list(ET.fromstring(whole).itertext())
        one, other = (
            np.asarray(Image.open(io.BytesIO(svg_to_png(svg))), int) for svg in (short, whole)
        )
        assert one[..., 3].any()
        assert np.abs(one - other).max() <= 16


@pytest.mark.slow
def test_charts_of_more_rows_than_altair_draws_by_default(rng):
    """6,000 members, and 6,000 classes of one image."""
    members = pd.DataFrame(
        {"title": "dense", "member": np.arange(6000), "k": 1, "accuracy": rng.random(6000)}
    )
    assert inline_svg(accuracy_chart(members), "").count("<path") > 6000
    before, after = (
        Predictions.from_top1(np.arange(6000), rng.integers(0, 6000, (2, 6000))) for _ in range(2)
    )
    assert "<path" in inline_svg(class_impact(before, after).chart(), "")
    assert chart_bytes(accuracy_chart(members), "svg").startswith(b"<svg")
