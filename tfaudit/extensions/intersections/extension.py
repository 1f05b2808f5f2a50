"""Declares intersections of groups: their audit, and its page below Groups."""

from tfaudit.extensions import Extension

_HOME = "tfaudit.extensions.intersections"

EXTENSION = Extension(
    name="intersections",
    names={
        "audits.intersections": f"{_HOME}.intersections:intersections",
        "audits.Intersections": f"{_HOME}.intersections:Intersections",
    },
    audits={"intersections": f"{_HOME}.audits:AUDIT"},
    pages={"intersections": f"{_HOME}.page:PAGE"},
)
