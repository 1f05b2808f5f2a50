"""Audits of all variants at once, registered once: each has a section in the report and a page in the viewer."""

import dataclasses
from collections.abc import Callable, Mapping

from tfaudit.analysis.audits import AUDITS
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import StudyData
from tfaudit.audits.declaration import Declaration
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.result import Result
from tfaudit.extensions import Registry


@dataclasses.dataclass(frozen=True, kw_only=True)
class JointAudit:
    """An audit of all variants at once; an audit of each variant may have the same name.

    Attributes:
        compute: takes the audits of a study and the limits of the gate; returns the result, None without one.
        shown: how it is presented to readers.
        applies: takes the data of a study; whether there is a result, as far as that is known without computing it.
    """

    compute: Callable[[StudyAudit, Limits], Result | None]
    shown: Declaration
    applies: Callable[[StudyData], object] = lambda data: True


JOINT_AUDITS: Mapping[str, JointAudit] = Registry(
    "joint_audits",
    {
        "robustness": "tfaudit.analysis.study_robustness:STUDY_ROBUSTNESS",
    },
)
"""Audits of all variants by name; those of extensions come last."""


def declaration_of(name: str) -> Declaration:
    """Return how an audit is presented to readers: the one of all variants, or without it the one of each."""
    shown = JOINT_AUDITS[name].shown if name in JOINT_AUDITS else AUDITS[name].shown
    assert shown is not None
    return shown
