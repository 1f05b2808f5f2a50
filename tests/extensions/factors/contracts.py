"""What tests of all audits test here, too."""

from tests.extensions.factors.tables import SPARSE, TABLE
from tfaudit.extensions.factors.regression import factors, factors_glm

RESULTS = [
    ("factors", lambda: factors(TABLE, **SPARSE)),
    ("factors, binomial", lambda: factors_glm(TABLE, **SPARSE)),
]
