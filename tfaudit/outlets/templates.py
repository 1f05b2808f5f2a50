"""The templates of pages and of their parts; they escape every value that is not `Markup`."""

import jinja2

from tfaudit.datasets.corruptions.registry import corruption_title
from tfaudit.outlets.columns import prose

PAGES = jinja2.Environment(
    loader=jinja2.PackageLoader("tfaudit.outlets", ""),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
PAGES.filters["corruption_title"] = corruption_title
PAGES.filters["prose"] = prose
PAGES.filters["anchor"] = lambda title: title.lower().replace(" ", "-")
