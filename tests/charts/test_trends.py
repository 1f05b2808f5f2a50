"""How a tilt is drawn."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from tfaudit.audits.trends.chart import tilt_chart
from tfaudit.stats import tilt


def test_the_line_has_the_slope_and_passes_through_the_middle_of_the_pixels_that_are_on():
    levels = (load_digits().images[7] / 16 * 255).astype(np.uint8)
    (slope,) = tilt([levels])
    chart = tilt_chart(levels, slope).to_dict()
    data = list(chart["datasets"].values())
    (line,) = (table for table in data if len(table) == 2)
    (row_1, column_1), (row_2, column_2) = ((end["row"], end["column"]) for end in line)
    assert (column_2 - column_1) / (row_2 - row_1) == pytest.approx(slope)
    assert chart["resolve"] == {
        "scale": {"color": "independent"}
    }  # else the second image is black, as is the first
    rows, columns = np.nonzero(levels > 127.5)
    middle = column_1 + slope * (rows.mean() + 0.5 - row_1)
    assert middle == pytest.approx(columns.mean() + 0.5)
    assert slope == pytest.approx(np.polyfit(rows, columns, 1)[0])
