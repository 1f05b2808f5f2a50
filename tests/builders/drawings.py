"""The texts that a chart shows."""

import xml.etree.ElementTree as ET

from tfaudit.charts.rendering import inline_svg


def texts(chart):
    """Return the texts of a chart in the order of its SVG."""
    return [
        element.text
        for element in ET.fromstring(inline_svg(chart, "")).iter("{http://www.w3.org/2000/svg}text")
    ]
