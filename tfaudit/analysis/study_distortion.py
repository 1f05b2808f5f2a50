"""Recall distortion of all variants of a study together: slopes and their intervals, sentences and notes."""

import dataclasses
import math
from collections import Counter
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Self, TypeAlias

import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import StudyData
from tfaudit.audits.distortion.declaration import DISTORTION
from tfaudit.audits.distortion.recall_distortion import Distortion
from tfaudit.audits.distortion.slopes import corrected_intervals, slope_frame
from tfaudit.errors import listed
from tfaudit.stats.intervals import Mark
from tfaudit.study.variants import Pruned

SAME_SLOPE = 0.05
"""Difference of a slope from 1 that an interval must exclude for a claim that the classes do not drift."""

BY = ("method", "level")
MethodLevel: TypeAlias = tuple[str, float | str]
"""Method and level of a variant: the level is a number for pruning and a name otherwise."""


@dataclasses.dataclass(frozen=True)
class StudyDistortion:
    """Recall distortion of every variant whose members have the numbers of dense members.

    Attributes:
        data: data of the study.
        results: audit of each variant that has slopes, by key.
    """

    data: StudyData
    results: Mapping[str, Distortion]

    @classmethod
    def of(cls, study_audit: StudyAudit) -> Self:
        """Return the audits of a study; none if no variant shares members with the baseline."""
        data = study_audit.data
        keys = filter(data.shares_members, data.compressed_keys)
        results = {key: study_audit.distortion(key) for key in keys}
        return cls(data, {key: one for key, one in results.items() if pd.notna(one.alpha).any()})

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

    def named(self, rows: pd.DataFrame, keys: Collection[str] | None = None) -> pd.DataFrame:
        """Return the rows of some variants, by default of all, with the titles that a click passes on."""
        titles = {
            self.levels[key]: self.data.titles[key]
            for key in (self.results if keys is None else keys)
        }
        names = [titles.get(level) for level in rows[[*BY]].itertuples(index=False, name=None)]
        return (
            rows.assign(title=pd.Series(names, rows.index, dtype=object))
            .dropna(subset=["title"])
            .reset_index(drop=True)
        )

    def rows(self, keys: Collection[str] | None = None) -> pd.DataFrame:
        """Return the table of slopes: a summary per variant, with the interval of its corrected slope."""
        families = self.named(self.intervals, keys)[["title", "low", "high", "mark"]]
        families = families.rename(columns={"low": "corrected_low", "high": "corrected_high"})
        rows = DISTORTION.table.joint(self.titled)
        return rows.drop(columns=families.columns[1:]).merge(families, on="title")

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

    @property
    def notes(self) -> tuple[str, ...]:
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
