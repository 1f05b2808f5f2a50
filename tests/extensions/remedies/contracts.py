"""What tests of all audits test here, too."""

from tests.builders.populations import population
from tfaudit.extensions.remedies.remedies import remedies

TRIO = population(0), population(1, hurt=[3]), population(2, hurt=[3])
RESULTS = [("all remedies", lambda: remedies({"distillation": TRIO}))]
