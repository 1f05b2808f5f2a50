"""The audit of a study that this extension adds."""

from tfaudit.analysis.audits import Audit, compared
from tfaudit.analysis.study_data import BASELINE
from tfaudit.extensions.calibration.calibration import Calibration, calibration
from tfaudit.extensions.calibration.declaration import CALIBRATION

AUDIT = Audit(
    name="calibration",
    result=Calibration,
    compute=compared(calibration),
    applies=lambda data, key: key != BASELINE and data.has_probabilities(key),
    shown=CALIBRATION,
)
