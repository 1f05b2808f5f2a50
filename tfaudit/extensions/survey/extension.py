"""Declares the human study: its statistics, its section, and the sheets that raters fill in."""

from tfaudit.extensions import Extension

_HOME = "tfaudit.extensions.survey"

EXTENSION = Extension(
    name="survey",
    names={
        "survey": f"{_HOME}.survey:survey",
        "audits.survey": f"{_HOME}.survey:survey",
        "audits.Survey": f"{_HOME}.survey:Survey",
        "audits.survey_sample": f"{_HOME}.sample:survey_sample",
        "audits.SurveySample": f"{_HOME}.sample:SurveySample",
    },
    joint_audits={"survey": f"{_HOME}.study_survey:STUDY_SURVEY"},
    exports={"survey": f"{_HOME}.sheets:SHEETS"},
)
