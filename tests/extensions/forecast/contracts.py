"""What tests of all audits test here, too."""

from tests.builders.populations import population
from tfaudit.extensions.forecast.declaration import FORECAST
from tfaudit.extensions.forecast.forecast import forecast
from tfaudit.extensions.forecast.quality import forecast_quality

ONE, OTHER = population(0, members=1), population(1, members=1, hurt=[3])

COMPARISONS = [(forecast_quality, 1)]
REFUSALS = [
    ("forecast", (lambda: forecast({}), "predictions: got dict, expected tfaudit.Predictions")),
]
LEAN = [(forecast_quality, True)]
TABLES = [lambda before, after: forecast(after).frame()]
RESULTS = [
    ("forecast", lambda: forecast(population(0))),
    ("forecast quality", lambda: forecast_quality(ONE, OTHER)),
]
SHOWN_INTERVALS = [("forecast", (FORECAST, forecast_quality, {}))]
