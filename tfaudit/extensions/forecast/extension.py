"""Declares the forecast of the images that compression changes: its audits, its command and its page."""

from tfaudit.extensions import Extension

_HOME = "tfaudit.extensions.forecast"

EXTENSION = Extension(
    name="forecast",
    names={
        "forecast": f"{_HOME}.forecast:forecast",
        "audits.forecast": f"{_HOME}.forecast:forecast",
        "audits.Forecast": f"{_HOME}.forecast:Forecast",
        "audits.forecast_quality": f"{_HOME}.quality:forecast_quality",
        "audits.ForecastQuality": f"{_HOME}.quality:ForecastQuality",
    },
    audits={
        "smallest_margins": f"{_HOME}.audits:MARGINS",
        "forecast": f"{_HOME}.audits:QUALITY",
    },
    commands={"forecast": f"{_HOME}.command:forecast"},
    pages={"forecast": f"{_HOME}.page:PAGE"},
)
