"""What tests of all audits test here, too."""

from tests.builders.populations import population
from tfaudit.extensions.divergence.declaration import DIVERGENCE
from tfaudit.extensions.divergence.divergence import LESS, MORE, divergence

ONE, OTHER = population(0, members=1), population(1, members=1, hurt=[3])

COMPARISONS = [(divergence, 1)]
LEAN = [(divergence, True)]
TABLES = [lambda before, after: divergence(before, after, paired=True).frame()]
RESULTS = [("divergence", lambda: divergence(ONE, OTHER))]
SHOWN_INTERVALS = [("divergence", (DIVERGENCE, divergence, {}))]
VERDICTS = [LESS, MORE]
