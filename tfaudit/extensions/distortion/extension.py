"""Declares recall distortion [R]: its audit, its slopes, and their sections in reports of one study and of several."""

from tfaudit.extensions import Extension

_HOME = "tfaudit.extensions.distortion"
_DISTORTION = f"{_HOME}.recall_distortion:distortion"

EXTENSION = Extension(
    name="distortion",
    names={
        "distortion": _DISTORTION,
        "audits.distortion": _DISTORTION,
        "audits.Distortion": f"{_HOME}.recall_distortion:Distortion",
        "audits.slope_frame": f"{_HOME}.slopes:slope_frame",
        "audits.slope_intervals": f"{_HOME}.slopes:slope_intervals",
        "audits.slope_means": f"{_HOME}.slopes:slope_means",
        "audits.slope_tests": f"{_HOME}.slope_tests:slope_tests",
        "audits.accuracy_table": f"{_HOME}.slope_tables:accuracy_table",
        "audits.level_table": f"{_HOME}.slope_tables:level_table",
        "audits.p_table": f"{_HOME}.slope_tables:p_table",
        "audits.variance_table": f"{_HOME}.slope_tables:variance_table",
    },
    audits={"distortion": f"{_HOME}.audits:DISTORTION"},
    joint_audits={"distortion": f"{_HOME}.study_distortion:STUDY_DISTORTION"},
    joint_sections={"distortion": f"{_HOME}.several_studies:distortion_of_studies"},
)
