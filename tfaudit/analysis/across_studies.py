"""Several studies side by side, each under a name of its own."""

from collections.abc import Sequence

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.errors import InputError
from tfaudit.study.study import Study


def named_studies(study_audits: Sequence[StudyAudit]) -> dict[str, StudyAudit]:
    """Return the audits of two or more studies by name, in their order.

    Raises:
        InputError: fewer than two studies, or two of the same name, model and data set.
    """
    if len(study_audits) < 2:
        raise InputError("studies", f"{len(study_audits)}", "two or more")
    names = _names([study_audit.data.study for study_audit in study_audits])
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(
            "studies", f"two called {twice[0]}", "studies of different names, models or data sets"
        )
    return dict(zip(names, study_audits, strict=True))


def _names(studies: Sequence[Study]) -> list[str]:
    """Return names of studies; those of several runs of one recipe tell model and data set, alone if all are such."""
    names = [study.name for study in studies]
    runs = [f"{study.model} on {study.dataset}" for study in studies]
    if len(set(names)) == 1 < len(names):
        return runs
    return [
        f"{name}, {run}" if names.count(name) > 1 else name
        for name, run in zip(names, runs, strict=True)
    ]
