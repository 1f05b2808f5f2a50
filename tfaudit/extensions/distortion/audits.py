"""The audit of a variant that this extension adds."""

from tfaudit.analysis.audits import Audit, compared
from tfaudit.analysis.study_data import BASELINE
from tfaudit.extensions.distortion.declaration import BALANCES
from tfaudit.extensions.distortion.recall_distortion import Distortion, distortion

DISTORTION = Audit(
    name="distortion",
    result=Distortion,
    compute=compared(distortion),
    options=lambda data, key: {},
    applies=lambda data, key: key != BASELINE and data.shares_members(key),
    shown=BALANCES,
)
