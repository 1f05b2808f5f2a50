"""What tests of all audits test here, too."""

from tests.builders.populations import population
from tfaudit.extensions.distortion.chart import balance_chart
from tfaudit.extensions.distortion.recall_distortion import distortion
from tfaudit.extensions.distortion.slope_chart import interval_chart, slope_chart, tradeoff_chart
from tfaudit.extensions.distortion.slope_tables import level_table
from tfaudit.extensions.distortion.slopes import (
    balance_frame,
    pooled_frame,
    slope_frame,
    slope_intervals,
)
from tfaudit.predictions import Predictions

BEFORE, AFTER = population(1), population(2, hurt=[3])
BY = ("method", "level")


def slopes_of(*pairs):
    return slope_frame(
        {("magnitude", 2 + i): distortion(*pair) for i, pair in enumerate(pairs)}, by=BY
    )


def balances():
    levels = {(method, 2): distortion(BEFORE, AFTER) for method in ("magnitude", "random")}
    return balance_chart(balance_frame(levels, by=BY), pooled_frame(levels, by=BY))


NOTHING = Predictions.from_top1(BEFORE.labels, (BEFORE.labels + 1) % 5, class_names=range(5))
SLOPES = {
    "slopes": slopes_of((BEFORE, AFTER), (BEFORE, BEFORE)),
    "one member": slopes_of((population(1, members=1), population(2, members=1))),
    "no slope": slopes_of((BEFORE, NOTHING)),
}
COMPARISONS = [(distortion, 6)]
LEAN = [(distortion, True), (distortion, False)]
POPULATION_TABLES = [lambda before, after: distortion(before, after).frame()]
RESULTS = [("distortion", lambda: distortion(population(0), population(1, hurt=[3])))]
CHARTS = [
    ("balances", balances),
    *(
        (f"{name}, {kind}", lambda table=table, draw=draw: draw(table))
        for name, table in SLOPES.items()
        for kind, draw in {
            "slopes": lambda slopes: slope_chart(slopes, slope_intervals(slopes)),
            "intervals": lambda slopes: interval_chart(slope_intervals(slopes)),
            "trade-off": lambda slopes: tradeoff_chart(level_table(slopes, dense=1)),
        }.items()
    ),
]
