"""Several studies together: recall distortion, [R] tables 5-7, 9 and 10."""

import dataclasses
from collections.abc import Sequence

import pandas as pd

from tfaudit.analysis.audits import pruned_variants
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.distortion.recall_distortion import Distortion
from tfaudit.audits.distortion.slope_tables import accuracy_table, p_table, variance_table
from tfaudit.audits.distortion.slope_tests import slope_tests
from tfaudit.audits.distortion.slopes import slope_frame, slope_means
from tfaudit.audits.result import Result
from tfaudit.errors import InputError
from tfaudit.study.study import Study

FACTORS = ("study", "dataset", "model", "method", "level")


@dataclasses.dataclass(frozen=True)
class AcrossStudies(Result):
    """Slopes of the pruned variants of several studies.

    Attributes:
        slopes: one row per study, method, level and member; see `frame`.
        paired: whether all pruned members are made from dense ones.
        alternative: alternative of the tests between studies: "greater" if only the models differ (the first study's
            slope is larger, [R] tables 5 and 6), "less" if only the data sets do (table 7), else "two-sided".
        study_audits: the audits of each study.
        alpha: significance level of the first study's audits.
    """

    slopes: pd.DataFrame
    paired: bool
    alternative: str
    study_audits: tuple[StudyAudit, ...]
    alpha: float
    notes = ()

    def frame(self) -> pd.DataFrame:
        """Return one row per study, method, level and member.

        Columns: `study`, `dataset`, `model`, `method`, `level`, then those of `slope_frame`: `member`, `alpha`,
        accuracies and variances before and after.
        """
        return self.slopes.copy()

    def means(self) -> pd.DataFrame:
        """Return means over the members of every study, method and level; see `slope_means`."""
        return slope_means(self.slopes)

    def accuracies(self) -> pd.DataFrame:
        """Return [R] table 10: mean accuracy before pruning, by study."""
        table = accuracy_table(self.slopes)
        return table.drop_duplicates("study").drop(columns="method").reset_index(drop=True)

    def between_studies(self) -> pd.DataFrame:
        """Return [R] tables 5-7: corrected p-values, pairs of consecutive studies by level; of independent members."""
        within = ["method", "level"]
        tests = slope_tests(
            self.slopes, "study", paired=False, alternative=self.alternative, within=within
        )
        return p_table(tests, columns="level")

    def between_methods(self) -> pd.DataFrame:
        """Return [R] table 9: corrected p-values of the methods of every study, by level; corrected for all tests."""
        within = ["study", "level"]
        tests = slope_tests(
            self.slopes, "method", paired=self.paired, pairs="all", within=within, family="all"
        )
        return p_table(tests, columns="level")

    def between_levels(self) -> pd.DataFrame:
        """Return [R] tables 1-4: corrected p-values of consecutive levels, by study: does the slope grow?"""
        within = ["study", "method"]
        tests = slope_tests(
            self.slopes, "level", paired=self.paired, alternative="less", within=within
        )
        return p_table(tests, columns="study")

    def variances(self) -> pd.DataFrame:
        """Return [R] table 11: mean variance of recall before pruning and at each level, by study and method."""
        return variance_table(self.slopes.drop(columns=["dataset", "model"]))


def across_studies(study_audits: Sequence[StudyAudit]) -> AcrossStudies:
    """Join the slopes of recall distortion of several studies, in their order.

    Consecutive studies are compared at every level that they share: give the smallest model or the simplest data set
    first.

    Args:
        study_audits: audits of two or more studies.

    Raises:
        InputError: fewer than two studies, two of the same name, model and data set, or one without pruned variants
            that share members with the dense ones.
    """
    if len(study_audits) < 2:
        raise InputError("studies", f"{len(study_audits)}", "two or more")
    names = _names([study_audit.data.study for study_audit in study_audits])
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(
            "studies", f"two called {twice[0]}", "studies of different names, models or data sets"
        )
    distortions: dict[tuple[str | float, ...], Distortion] = {}
    paired = True
    for name, study_audit in zip(names, study_audits, strict=True):
        data = study_audit.data
        before = len(distortions)
        for key, variant in pruned_variants(data).items():
            if data.shares_members(key):
                method = variant.pruning_method(*data.study.varied_settings)
                where = (name, str(data.study.dataset), str(data.study.model), method)
                distortions[*where, variant.level] = study_audit.distortion(key)
                paired = paired and data.study.parent_of(key) is not None
        if len(distortions) == before:
            raise InputError(
                "studies", f"{name}, without pruned variants to pair", "pruned variants"
            )
    models, datasets = (
        {str(getattr(a.data.study, name)) for a in study_audits} for name in ("model", "dataset")
    )
    kinds = {(True, False): "greater", (False, True): "less"}
    alternative = kinds.get((len(models) > 1, len(datasets) > 1), "two-sided")
    return AcrossStudies(
        slope_frame(distortions, by=FACTORS),
        paired,
        alternative,
        tuple(study_audits),
        study_audits[0].data.alpha,
    )


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
