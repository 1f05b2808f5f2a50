"""The audits of a study that this extension adds."""

import pandas as pd

from tfaudit.analysis.audits import ONE_POPULATION, Audit, compared, made_from_dense
from tfaudit.analysis.study_data import BASELINE
from tfaudit.extensions.forecast.declaration import FORECAST
from tfaudit.extensions.forecast.first_examples import first_examples
from tfaudit.extensions.forecast.forecast import FIRST, forecast
from tfaudit.extensions.forecast.quality import ForecastQuality, forecast_quality

MARGINS = Audit(
    name="smallest_margins",
    result=pd.DataFrame,
    compute=lambda data, key: forecast(data.baseline).frame().head(FIRST),
    **ONE_POPULATION
    | {"applies": lambda data, key: key == BASELINE and data.has_probabilities(key)},
)
QUALITY = Audit(
    name="forecast",
    result=ForecastQuality,
    compute=compared(forecast_quality),
    applies=made_from_dense,
    shown=FORECAST,
    gallery=first_examples,
)
