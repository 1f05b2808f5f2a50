"""What a chart shows: its texts, its rows, its colours and its width."""

import re
import xml.etree.ElementTree as ET

import pandas as pd

from tfaudit.charts.rendering import inline_svg


def texts(chart):
    """Return the texts of a chart in the order of its SVG."""
    return [
        element.text
        for element in ET.fromstring(inline_svg(chart, "")).iter("{http://www.w3.org/2000/svg}text")
    ]


def rows_of(chart):
    """Return the rows of all data of a chart."""
    return pd.concat(pd.DataFrame(rows) for rows in chart.to_dict()["datasets"].values())


def assert_fits(chart, widest):
    """Assert that a chart is at most `widest` pixels wide and that its colours show on light and on dark pages."""
    svg = inline_svg(chart, "")
    assert float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1]) <= widest
    svg = re.sub(r'(fill="#\w+") stroke="white"', r"\1", svg)  # outlines of points
    drawn = re.findall(r'(?:fill|stroke)="(#[0-9a-f]{3,6}|black|white)"', svg)
    assert not {"black", "#000", "#000000", "white", "#fff", "#ffffff"} & set(drawn)
