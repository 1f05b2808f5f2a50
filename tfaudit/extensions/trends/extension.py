"""Declares accuracy against properties of the images: their audit, which the page of groups shows."""

from tfaudit.extensions import Extension

_HOME = "tfaudit.extensions.trends"

EXTENSION = Extension(
    name="trends",
    names={
        "audits.trends": f"{_HOME}.trends:trends",
        "audits.Trends": f"{_HOME}.trends:Trends",
    },
    audits={"trends": f"{_HOME}.audits:AUDIT"},
)
