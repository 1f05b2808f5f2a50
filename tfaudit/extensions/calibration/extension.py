"""Declares calibration: its audit, and the names of its result."""

from tfaudit.extensions import Extension

_HOME = "tfaudit.extensions.calibration"

EXTENSION = Extension(
    name="calibration",
    names={
        "audits.calibration": f"{_HOME}.calibration:calibration",
        "audits.Calibration": f"{_HOME}.calibration:Calibration",
    },
    audits={"calibration": f"{_HOME}.audits:AUDIT"},
)
