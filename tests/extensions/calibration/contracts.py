"""What tests of all audits test here, too."""

from tests.builders.populations import population
from tfaudit.extensions.calibration.calibration import LESS, MORE, calibration

COMPARISONS = [(calibration, 6)]
OF_ONE_AND_SEVERAL = [calibration]
LEAN = [(calibration, True), (calibration, False)]
POPULATION_TABLES = [lambda before, after: calibration(before, after).frame()]
RESULTS = [("calibration", lambda: calibration(population(0), population(1, hurt=[3])))]
VERDICTS = [LESS, MORE]
