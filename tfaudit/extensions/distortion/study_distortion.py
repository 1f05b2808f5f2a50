"""Recall distortion of all variants of a study together: slopes and their intervals, sentences and notes."""

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import TypeAlias

import pandas as pd

from tfaudit.analysis.audits import pruned_variants
from tfaudit.analysis.joint_audits import JointAudit
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import StudyData
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import listed
from tfaudit.extensions.distortion.declaration import DISTORTION
from tfaudit.extensions.distortion.recall_distortion import Distortion
from tfaudit.extensions.distortion.slope_marks import Mark
from tfaudit.extensions.distortion.slope_tables import level_table, p_table, variance_table
from tfaudit.extensions.distortion.slope_tests import slope_tests
from tfaudit.extensions.distortion.slopes import corrected_intervals, slope_frame
from tfaudit.study.variants import Pruned

SAME_SLOPE = 0.05
"""Difference of a slope from 1 that an interval must exclude for a claim that the classes do not drift."""

BY = ("method", "level")
MethodLevel: TypeAlias = tuple[str, float | str]
"""Method and level of a variant: the level is a number for pruning and a name otherwise."""


@dataclasses.dataclass(frozen=True)
class StudyDistortion(Result):
    """Recall distortion of every variant whose members have the numbers of dense members.

    Attributes:
        data: data of the study.
        results: audit of each variant that has slopes, by key.
    """

    data: StudyData
    results: Mapping[str, Distortion]

    @cached_property
    def levels(self) -> dict[str, MethodLevel]:
        """The method and the level of every variant with slopes, by key."""
        study = self.data.study
        levels: dict[str, MethodLevel] = {}
        for key in self.results:
            variant = study.variant(key)
            if isinstance(variant, Pruned):
                levels[key] = variant.pruning_method(*study.varied_settings), variant.level
            else:
                levels[key] = variant.family, self.data.titles[key]
        return levels

    @property
    def by_level(self) -> dict[MethodLevel, Distortion]:
        """The audits by method and level."""
        return {self.levels[key]: result for key, result in self.results.items()}

    @property
    def titled(self) -> dict[str, Distortion]:
        """The audits by title of the variant."""
        return {self.data.titles[key]: result for key, result in self.results.items()}

    @cached_property
    def slopes(self) -> pd.DataFrame:
        """The slopes of all members; see `slope_frame`."""
        return slope_frame(self.by_level, by=BY)

    @cached_property
    def intervals(self) -> pd.DataFrame:
        """The intervals of the corrected slopes; see `corrected_intervals`."""
        return corrected_intervals(self.by_level, by=BY, alpha=self.data.alpha)

    def named(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return rows with the titles of the variants, which a click passes on."""
        titles = {level: self.data.titles[key] for key, level in self.levels.items()}
        levels = rows[[*BY]].itertuples(index=False, name=None)
        return rows.assign(title=pd.Series([titles.get(level) for level in levels], rows.index))

    def frame(self) -> pd.DataFrame:
        """Return the table of slopes: a summary per variant, with the interval of its corrected slope."""
        families = self.named(self.intervals)[["title", "low", "high", "mark"]]
        families = families.rename(columns={"low": "corrected_low", "high": "corrected_high"})
        rows = [result.summary() | {"title": title} for title, result in self.titled.items()]
        return pd.DataFrame(rows).drop(columns=families.columns[1:]).merge(families, on="title")

    def spread(self) -> pd.DataFrame:
        """Return the spread of slopes over the models of every variant."""
        frames = [
            result.spread_frame().assign(title=title) for title, result in self.titled.items()
        ]
        return pd.concat(frames, ignore_index=True)

    def summary(self) -> dict[str, str]:
        """Return the sentences by key of the variant."""
        return self.sentences

    def chart(self) -> Drawing:
        """Draw mean accuracy and mean slope of every variant."""
        from tfaudit.extensions.distortion.slope_chart import tradeoff_chart

        return tradeoff_chart(self.named(level_table(self.slopes)))

    @cached_property
    def marks(self) -> dict[str, Mark]:
        """The corrected slopes by key, each with a mark that is corrected for all levels of its method."""
        sizes = Counter(method for method, _ in self.levels.values())
        return {
            key: result.mark(levels=sizes[self.levels[key][0]], alpha=self.data.alpha)
            for key, result in self.results.items()
        }

    @property
    def sentences(self) -> dict[str, str]:
        """Sentences on whether the recalls of the classes drift apart, by key of the variant.

        A claim holds for all levels of a method at once; the interval is that of the gate. The sentence is about the
        corrected slope, because finite test images and separately trained members pull the uncorrected slope below 1;
        without a corrected slope, the sentence claims nothing.
        """
        return {
            key: drift_sentence(self.data.titles[key], mark) for key, mark in self.marks.items()
        }

    @property
    def findings(self) -> list[str]:
        """A sentence on every variant whose classes are shown to drift, and one on all the others."""
        unclear = [
            key
            for key, slope in self.marks.items()
            if slope.mark == "?" and not slope_is_one(slope)
        ]
        if len(unclear) == len(self.marks):
            return [
                "For no variant do the data show that classes drift apart or move closer together."
            ]
        shown = [text for key, text in self.sentences.items() if key not in unclear]
        others = [self.data.titles[key] for key in unclear]
        return [*shown, *([f"For {listed(others)} the data cannot tell."] if others else [])]

    @cached_property
    def pruned(self) -> pd.DataFrame:
        """The slopes of pruned variants, whose levels are numbers."""
        is_name = self.slopes["level"].map(lambda level: isinstance(level, str))
        return self.slopes[~is_name]

    @property
    def several(self) -> bool:
        """Whether a variant has two members with slopes, which boxes and intervals need."""
        return bool(self.slopes.groupby([*BY]).size().max() > 1)

    @property
    def kind(self) -> str:
        """Whether the tests of [R] 7 are paired, because all pruned members are made from dense ones."""
        pruned = pruned_variants(self.data)
        return "paired" if all(map(self.data.study.parent_of, pruned)) else "independent"

    def question(self, factor: str, columns: str, **options: str) -> pd.DataFrame:
        """Answer a question of [R] 7 for pruned variants: p-values, without rows if there are none.

        Args:
            factor: "level" or "method", whose values are compared.
            columns: factor whose values are the columns.
            **options: of `slope_tests`.
        """
        if self.pruned.empty:
            return pd.DataFrame()
        tests = slope_tests(self.pruned, factor, paired=self.kind == "paired", **options)
        return p_table(tests, columns=columns) if tests["p"].notna().any() else pd.DataFrame()

    def variances(self) -> pd.DataFrame:
        """Return the variance of recall over the classes by level ([R] table 11); without rows if none is pruned."""
        return self.pruned if self.pruned.empty else variance_table(self.pruned)

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """The notes of these audits, and one each on variants that were trained apart, or after pruning."""
        data = self.data
        notes = dict.fromkeys(note for result in self.results.values() for note in result.notes)
        if data.study.training is None:
            return (*notes,)
        apart, further = [], []
        for key in data.compressed_keys:
            variant = data.study.variant(key)
            if data.study.parent_of(key) is None:
                apart.append(data.titles[key])
            elif isinstance(variant, Pruned) and variant.treatment != "one_shot":
                further.append(data.titles[key])
        several = any(len(result.members) > 1 for result in self.results.values())
        free = "The corrected slope is free of this."
        told = []
        if apart:
            told.append(
                f"Members of {listed(apart)} were trained independently and are paired with dense members by number, "
                "which alone pulls the published slope below 1; compare it with “retrained”, the slope between two "
                f"baseline models. {free}"
            )
        if further:
            told.append(
                f"Members of {listed(further)} were trained after pruning, which alone pulls the published slope below "
                f"1. {free if several else 'That of a single model is pulled, too.'}"
            )
        return (*told, *notes)


def slope_is_one(slope: Mark) -> bool:
    """Return whether an interval excludes any slope that differs from 1 by `SAME_SLOPE`; False for NaN."""
    return 1 - SAME_SLOPE < slope.low <= 1 <= slope.high < 1 + SAME_SLOPE


def drift_sentence(title: str, slope: Mark) -> str:
    """Return a sentence on the slope of a variant, which begins with its title.

    Example:
        >>> drift_sentence("int8", Mark("?", 1.2, 1.1, 1.3, 0.95))
        'int8: judged alone, classes drift apart; among all levels this may be chance: slope 1.20 (95 %: 1.10 to 1.30).'
        >>> drift_sentence("int8", Mark("?", 1.654, 0.9, 2.41, 0.95))
        'int8: the data cannot tell whether classes drift apart: slope 1.65 (95 %: 0.90 to 2.41).'
        >>> drift_sentence("float16", Mark("?", 1.0, 0.99, 1.012, 0.95))
        'float16: classes lie as far from the average as before, within 2 %: slope 1.00 (95 %: 0.99 to 1.01).'
        >>> drift_sentence("int8", Mark("<", 0.8, 0.7, 0.9, 0.95))
        'int8: classes lie 0.80 times as far from the average as before (95 %: 0.70 to 0.90).'
    """
    if math.isnan(slope.mean):
        return f"{title}: the data cannot tell whether classes drift apart; there is no corrected slope."
    level = f"{100 * slope.confidence:.3g} %"
    interval = "" if math.isnan(slope.low) else f" ({level}: {slope.low:.2f} to {slope.high:.2f})"
    verb = "drift apart" if slope.mean >= 1 else "move closer together"
    if slope.mark == "?" and not slope.low <= 1 <= slope.high and interval:
        told = f"judged alone, classes {verb}; among all levels this may be chance: slope {slope.mean:.2f}"
    elif slope_is_one(slope):
        beyond = math.ceil(100 * max(1 - slope.low, slope.high - 1))
        told = f"classes lie as far from the average as before, within {beyond} %: slope {slope.mean:.2f}"
    elif slope.mark == "?":
        told = f"the data cannot tell whether classes {verb}: slope {slope.mean:.2f}"
    else:
        told = f"classes lie {slope.mean:.2f} times as far from the average as before"
    text = f"{title}: {told}{interval}."
    return text.replace(" -", " −").replace("(-", "(−")


def study_distortion(study_audit: StudyAudit, limits: Limits) -> StudyDistortion | None:
    """Return the audits of a study; None if no variant that shares members with the baseline has slopes."""
    data = study_audit.data
    keys = filter(data.shares_members, data.compressed_keys)
    results = {key: study_audit.distortion(key) for key in keys}
    sloped = {key: result for key, result in results.items() if pd.notna(result.alpha).any()}
    return StudyDistortion(data, sloped) if sloped else None


STUDY_DISTORTION = JointAudit(
    compute=study_distortion,
    applies=lambda data: any(map(data.shares_members, data.compressed_keys)),
    shown=DISTORTION,
)
