"""Charts of the gallery's examples as pictures."""

from pathlib import Path

import altair as alt
from sphinx_gallery.scrapers import figure_rst

from tfaudit.charts.rendering import chart_bytes, widened

WIDTH = 640  # pixels
_DRAWN: dict[int, alt.TopLevelMixin] = {}  # by id, and held, so that no later chart gets the id


def charts_as_pictures(block, variables, settings):
    """Save the charts that a block of an example has made, and return the lines that show them."""
    paths = []
    for value in variables["example_globals"].values():
        if isinstance(value, alt.TopLevelMixin) and id(value) not in _DRAWN:
            _DRAWN[id(value)] = value
            path = next(variables["image_path_iterator"])
            Path(path).write_bytes(chart_bytes(widened(value, WIDTH), "png"))
            paths.append(path)
    return figure_rst(paths, settings["src_dir"])
