"""Factors that explain the accuracy of a class after pruning: the two regressions of one study, or of several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tfaudit.analysis.joint_audits import JointAudit
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.limits import Limits
from tfaudit.extensions.factors.declaration import FACTORS
from tfaudit.extensions.factors.sparsities import pruned_keys
from tfaudit.outlets.sections.audit import TitledResult, section_of
from tfaudit.outlets.sections.section import Section

if TYPE_CHECKING:
    from tfaudit.extensions.factors.study_factors import StudyFactors


def factors_of_study(study_audit: StudyAudit, limits: Limits) -> StudyFactors | None:
    """Return the regressions of a study; None if too few sparsities or classes allow neither."""
    # Half a second: it loads statsmodels.
    from tfaudit.extensions.factors.study_factors import study_factors

    return study_factors(study_audit)


def factors_of_studies(studies: Mapping[str, StudyAudit]) -> Section | None:
    """Return the section of the regressions over all studies; None if none is pruned to three sparsities."""
    from tfaudit.extensions.factors.study_factors import joint_factors

    result = joint_factors(studies)
    return section_of(FACTORS, [TitledResult(result)]) if result else None


STUDY_FACTORS = JointAudit(compute=factors_of_study, shown=FACTORS, applies=pruned_keys)
