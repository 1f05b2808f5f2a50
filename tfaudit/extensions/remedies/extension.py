"""Declares distillation, as a callback and in studies, and the comparison of remedies with their controls."""

from tfaudit.extensions import Extension

_HOME = "tfaudit.extensions.remedies"

EXTENSION = Extension(
    name="remedies",
    names={
        "Distillation": f"{_HOME}.distillation:Distillation",
        "compress.Distillation": f"{_HOME}.distillation:Distillation",
        "study.DistillationRemedy": f"{_HOME}.settings:DistillationRemedy",
    },
    remedies={"distillation": f"{_HOME}.settings:DistillationRemedy"},
    joint_audits={"remedies": f"{_HOME}.study_remedies:STUDY_REMEDIES"},
)
