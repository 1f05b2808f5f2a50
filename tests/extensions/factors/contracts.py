"""What tests of all audits test here, too."""

from tests.extensions.factors.tables import SPARSE, TABLE
from tfaudit.extensions.factors.regression import factors, factors_glm
from tfaudit.extensions.factors.study_factors import factors_of

RESULTS = [
    ("factors", lambda: factors(TABLE, **SPARSE)),
    ("factors, binomial", lambda: factors_glm(TABLE, **SPARSE)),
    ("factors of a study", lambda: factors_of(TABLE, 0.05)),
]
