"""Charts as files and as inline SVG, without a browser and without a network.

vl-convert, which the extra `charts` installs, draws them in a process of its own.
"""

import itertools
import re
from collections.abc import Callable, Iterable
from html import escape
from typing import Any

import altair as alt

from tfaudit.charts.panels import SPACING
from tfaudit.charts.renderer import draw
from tfaudit.charts.style import Drawing

FORMS = ("png", "svg", "pdf")
"""File formats of charts."""

FIT = alt.AutoSizeParams(type="fit-x", contains="padding")
"""Without it a chart of fixed height is squeezed until its legend fits."""

AXES = 170  # pixels of labels and legends beside one of several stacked panels
NUMBERS = 62  # pixels of labels and title of the axis beside one of several panels in a grid
LARGEST = 1.3  # how much an inline chart may grow to fill its column

_FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"  # equal widths: measured here, drawn by a browser
_NUMBERS = itertools.count()
_TAG = re.compile(r"<[^>]+>")
_TOO_EXACT = re.compile(r"\d+\.\d{3,}")
_UNSEEN = re.compile(r'<path [^>]*(?:display="none"|d="M0,0h0v0h0Z")[^>]*/>')
_UNSAID = re.compile(r' (?:(?:role|aria-[a-z]+)="[^"]*"|pointer-events="[a-z]+"|opacity="1")')


def chart_bytes(chart: Drawing, form: str) -> bytes:
    """Return a chart as the content of a file, dark on white; `form` is one of `FORMS`.

    Raises:
        ImportError: vl-convert is not installed.
        DrawingError: this chart cannot be drawn.
    """
    return chart_files(chart, [form])[form]


def chart_files(chart: Drawing, forms: Iterable[str] = FORMS) -> dict[str, bytes]:
    """Return the contents of a chart's files by form, as `chart_bytes` does; the chart is laid out only once."""
    svg = draw("vegalite_to_svg", _specification(chart, "#1d1f24", "white"))
    convert: dict[str, Callable[[], bytes]] = {
        "svg": svg.encode,
        "png": lambda: draw("svg_to_png", svg, scale=2),
        "pdf": lambda: draw("svg_to_pdf", svg),
    }
    return {form: convert[form]() for form in forms}


def widened(chart: Drawing, width: int) -> Drawing:
    """Return a chart of a given width; stacked panels each have this width, panels side by side have it together.

    Args:
        chart: chart to draw.
        width: width in pixels, with axes and legends.
    """
    if isinstance(chart, alt.VConcatChart):
        stacked = chart.copy(deep=False)
        stacked.vconcat = [_widened_part(part, width) for part in chart.vconcat]
        return stacked
    if isinstance(chart, (alt.Chart, alt.LayerChart)):
        return chart.properties(width=width, autosize=FIT)
    return _widened_part(chart, width)


def _widened_part(part: Any, width: int) -> Any:
    """Return a part of stacked charts in a given width, because parts cannot fit themselves."""
    if isinstance(part, alt.ConcatChart):
        each = (width - SPACING * (part.columns - 1)) // part.columns - NUMBERS
        grid = part.copy(deep=False)
        grid.concat = [panel.properties(width=each) for panel in part.concat]
        return grid
    is_single = isinstance(part, (alt.Chart, alt.LayerChart))
    return part.properties(width=width - AXES) if is_single else part


def inline_svg(chart: Drawing, description: str, *, width: int | None = None) -> str:
    """Return a chart as an SVG element that takes the colour of the surrounding text and the width of its column.

    Args:
        chart: chart to draw.
        description: alternative text.
        width: width in pixels at which text has its usual size; by default the chart's own.

    Raises:
        ImportError: vl-convert is not installed.
        DrawingError: this chart cannot be drawn.
    """
    shown = chart if width is None else widened(chart, width)
    specification = _specification(shown, "currentColor", "transparent")
    svg = _shortened(draw("vegalite_to_svg", specification))
    prefix = f"c{next(_NUMBERS)}-"  # ids of several charts share one page
    svg = re.sub(r'\bid="', f'id="{prefix}', svg).replace("url(#", f"url(#{prefix}")
    label = escape(description, quote=True)

    def opening(tag: re.Match[str]) -> str:
        width, height = tag.groups()
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" aria-label="{label}" '
            f'viewBox="0 0 {width} {height}" style="max-width:{LARGEST * float(width):.0f}px">'
        )

    return re.sub(r'^<svg[^>]*? width="([\d.]+)" height="([\d.]+)"[^>]*>', opening, svg)


def _shortened(svg: str) -> str:
    """Return a drawing of Vega without its invisible and unspoken parts, which are a fifth of it.

    Lengths keep hundredths of a pixel; text keeps all digits. The element as a whole has a description, so its parts
    need none.
    """

    def shorter(tag: re.Match[str]) -> str:
        return _TOO_EXACT.sub(lambda length: f"{float(length[0]):.2f}", _UNSAID.sub("", tag[0]))

    return _TAG.sub(shorter, _UNSEEN.sub("", svg))


def _specification(chart: Drawing, ink: str, background: str) -> dict[str, Any]:
    sizes = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    faint = {"labelColor": ink, "titleColor": ink, **sizes}
    config = {
        "font": _FONT,
        "background": background,
        "aria": False,  # the element as a whole has a description; a thousand unlabelled marks would be noise
        "view": {"stroke": None},
        "axis": {
            **faint,
            "gridColor": ink,
            "gridOpacity": 0.12,
            "domain": False,
            "ticks": False,
            "titlePadding": 8,
        },
        "legend": {**faint, "symbolBaseFillColor": ink, "symbolBaseStrokeColor": ink},
        "header": faint,
        "text": {"color": ink},
        "rule": {"color": ink},
        "title": {"color": ink, "fontSize": 12, "fontWeight": "normal", "anchor": "start"},
    }
    # A study may have more members or classes than 5,000.
    with alt.data_transformers.enable("default", max_rows=None):
        # Tests check that charts follow Altair's schema.
        return chart.to_dict(validate=False) | {"config": config}  # type: ignore[no-any-return]
