"""Declares the regressions of class accuracy of [P], and their section in reports of one study and of several."""

from tfaudit.extensions import Extension

_HOME = "tfaudit.extensions.factors"

EXTENSION = Extension(
    name="factors",
    names={
        "audits.class_table": f"{_HOME}.class_table:class_table",
        "audits.factors": f"{_HOME}.regression:factors",
        "audits.factors_glm": f"{_HOME}.regression:factors_glm",
        "audits.Factors": f"{_HOME}.regression:Factors",
    },
    joint_audits={"factors": f"{_HOME}.joint_audit:STUDY_FACTORS"},
    joint_sections={"factors": f"{_HOME}.joint_audit:factors_of_studies"},
)
