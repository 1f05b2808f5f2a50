"""Recall distortion of several studies: [R] tables 5-7, 9 and 10, and their section in a report on all of them."""

import dataclasses
from collections.abc import Mapping

import pandas as pd

from tfaudit.analysis.audits import pruned_variants
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.errors import InputError
from tfaudit.extensions.distortion.recall_distortion import Distortion
from tfaudit.extensions.distortion.slope_tables import accuracy_table, p_table, variance_table
from tfaudit.extensions.distortion.slope_tests import slope_tests
from tfaudit.extensions.distortion.slopes import slope_frame, slope_means
from tfaudit.outlets.columns import Column, P
from tfaudit.outlets.grid import Grid, crosstab
from tfaudit.outlets.sections.section import Section

FACTORS = ("study", "dataset", "model", "method", "level")

_HYPOTHESES = {
    "greater": "Does the earlier study have the steeper slope? p, independent, one-sided",
    "less": "Does the later study have the steeper slope? p, independent, one-sided",
    "two-sided": "Do consecutive studies differ? p, independent, two-sided",
}
MEANS = (
    "study",
    "method",
    "level",
    "members",
    "accuracy_before",
    "accuracy_after",
    "alpha",
    "alpha_se",
)


@dataclasses.dataclass(frozen=True)
class SlopesOfStudies:
    """Slopes of the pruned variants of several studies.

    Attributes:
        slopes: one row per study, method, level and member; columns `study`, `dataset`, `model`, `method`, `level`,
            then those of `slope_frame`.
        paired: whether all pruned members are made from dense ones.
        alternative: alternative of the tests between studies: "greater" if only the models differ (the first study's
            slope is larger, [R] tables 5 and 6), "less" if only the data sets do (table 7), else "two-sided".
    """

    slopes: pd.DataFrame
    paired: bool
    alternative: str

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


def slopes_of_studies(studies: Mapping[str, StudyAudit]) -> SlopesOfStudies:
    """Join the slopes of recall distortion of several studies, by name in their order.

    Consecutive studies are compared at every level that they share: give the smallest model or the simplest data set
    first.

    Raises:
        InputError: a study without pruned variants that share members with the dense ones.
    """
    distortions: dict[tuple[str | float, ...], Distortion] = {}
    paired = True
    for name, study_audit in studies.items():
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
        {str(getattr(study_audit.data.study, name)) for study_audit in studies.values()}
        for name in ("model", "dataset")
    )
    kinds = {(True, False): "greater", (False, True): "less"}
    alternative = kinds.get((len(models) > 1, len(datasets) > 1), "two-sided")
    return SlopesOfStudies(slope_frame(distortions, by=FACTORS), paired, alternative)


def distortion_of_studies(studies: Mapping[str, StudyAudit]) -> Section:
    """Return the section with the tables of [R] that several studies allow."""
    result = slopes_of_studies(studies)
    kind = "paired" if result.paired else "independent"
    title = f"{_HYPOTHESES[result.alternative]}, Bonferroni by column ([R] tables 5-7)"
    tested = [(title, result.between_studies(), P)]
    if result.slopes["method"].nunique() > 1:
        title = f"Do methods differ? p, {kind}, two-sided, Bonferroni over all tests ([R] tables 8 and 9)"
        tested.append((title, result.between_methods(), P))
    if result.slopes["level"].nunique() > 1:
        title = f"Does the slope grow with the level? p, {kind}, one-sided, Bonferroni by column ([R] tables 1-4)"
        tested.append((title, result.between_levels(), P))
    title = "Variance of recall over the classes ([R] table 11)"
    tested.append((title, result.variances(), Column("", ".4f")))
    return Section(
        "distortion",
        "Recall distortion",
        "Does compression drive the recalls of the classes further apart (a steeper slope) for some models, data sets "
        "or methods than for others?",
        "[R] 5",
        tables=(
            Grid.of("Accuracy before pruning ([R] table 10)", result.accuracies()),
            Grid.of("Slopes, means over the members", result.means(), MEANS, "studies"),
            *(crosstab(*table) for table in tested if table[1].notna().any(axis=None)),
        ),
    )
