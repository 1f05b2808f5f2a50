"""The first screen of a study: may a compressed model ship, which, and which class pays?"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.classes.classes import MARGIN_PP, worst_class
from tfaudit.audits.doubts import OUTPUTS, Doubt
from tfaudit.audits.gate.checks import CANNOT_JUDGE, FAIL, OUTCOMES, PASS, PASSES_UNCORRECTED
from tfaudit.audits.gate.gate import Verdict, judge
from tfaudit.audits.gate.limits import DEFAULT_LIMITS, Limits
from tfaudit.audits.gate.measurements import CHANGES as GROUP_CHANGES
from tfaudit.audits.gate.measurements import Measurements
from tfaudit.audits.result import Drawing, Result, described
from tfaudit.audits.ties import joined_notes
from tfaudit.errors import listed
from tfaudit.runtime.names import class_in_words
from tfaudit.stats.multiplicity import adjust

NAMED = 10
"""Maximum number of collapsed classes of a variant that a sentence names."""

SIMILAR = 0.01
"""Share by which a file may be larger than the smallest that qualifies and still be the best one."""

GZIPPED, ON_DISK = "gzipped", "on disk"
SIZES = {GZIPPED: "gzipped_bytes", ON_DISK: "bytes"}
_IN_WORDS = {GZIPPED: "gzipped bytes", ON_DISK: "bytes on disk"}

CHANGES = (
    "top1",
    "change_pp",
    "change_low_pp",
    "change_high_pp",
    "worst_class",
    "worst_before",
    "worst_after",
)
WORST_CHANGE = ("worst_change_pp", "worst_low_pp", "worst_high_pp")
"""Columns of what a variant loses: overall, and in its worst class, before and after, then with an interval."""

_COLUMNS = (
    "variant",
    "title",
    "outcome",
    "reason",
    "best",
    *CHANGES,
    *WORST_CHANGE,
    "lost",
    "collapsed",
    "changed_share",
    "retrained_share",
    "examples",
    "size_ratio",
)


@dataclasses.dataclass(frozen=True)
class StudyVerdict(Result):
    """Verdict on every compressed variant of a study.

    Attributes:
        table: one row per variant; see `frame`.
        headline: the verdict in one or two sentences. It claims harm only for classes in `lost`, or if the gate fails a
            variant.
        collapsed: a sentence on the classes that the models no longer know, by key of each variant that has any; no
            test is needed.
        best: key of the variant to ship: the smallest file that passes also after the correction for all variants;
            among files at most 1 % larger the one whose worst class loses least. None if there is none.
        limits: limits that the gate checked.
        verdicts: verdicts of the gate, by variant; a single model cannot be judged against a population and has none.
        lost: classes that lost recall, by variant, after Holm's correction over all classes and variants.
        alpha: level of the tests; intervals are at level 1 - alpha.
        doubts: what forbids a verdict on any variant: doubts about the baseline.
        notes: caveats for the reader, one sentence each.
        sizes: which bytes `size_ratio` compares: "gzipped" or, where only those are known, "on disk".
        missing: results that the study still lacks, one sentence each.
        in_turn: whether the best is one of a sequence that was judged in turn, without a correction for all variants.
    """

    table: pd.DataFrame
    headline: str
    collapsed: Mapping[str, str]
    best: str | None
    limits: Limits
    verdicts: Mapping[str, Verdict]
    lost: Mapping[str, tuple[str, ...]]
    alpha: float
    doubts: tuple[Doubt, ...]
    notes: tuple[str, ...]
    sizes: str = GZIPPED
    missing: tuple[str, ...] = ()
    in_turn: bool = False

    @property
    def among(self) -> str:
        """Return among which variants the best one must pass, in words."""
        return _among(len(self.table), self.in_turn)

    @property
    def rule(self) -> str:
        """Return which variant is recommended."""
        if self.in_turn:
            return "the smallest that passes in the order in which the search judges"
        return "the smallest that passes also after the correction for all variants"

    @property
    def alerts(self) -> tuple[str, ...]:
        """Return what a reader must not miss, one sentence each: `missing` results, doubts, `collapsed` classes."""
        titles = self.table.set_index("variant")["title"]
        own = [
            f"{titles[key]}: {doubt.sentence}"
            for key, verdict in self.verdicts.items()
            for doubt in verdict.doubts
            if doubt not in self.doubts  # which are the headline
        ]
        gone = (f"{titles[key]}: {sentence}" for key, sentence in self.collapsed.items())
        return (*self.missing, *own, *gone)

    @property
    def lead(self) -> str | None:
        """Return the key of the variant to name first: the best, or where none is, the one that comes closest.

        It passes uncorrected, or cannot be judged rather than fails, and has most headroom. None comes closest if there
        are `doubts`.
        """
        if self.best is not None or self.doubts or not self.verdicts:
            return self.best

        def nearness(key: str) -> tuple[bool, int, float]:
            verdict = self.verdicts[key]
            return key in self.alone, OUTCOMES.index(verdict.outcome), verdict.headroom

        return max(self.verdicts, key=nearness)

    @property
    def worst(self) -> str | None:
        """Return the key of the variant whose worst class loses most, a collapse first; None if none is known."""
        known = self.table.dropna(subset=["worst_change_pp"])
        if known.empty:
            return None
        gravity = known.assign(collapsed=known["collapsed"] == 0)
        by = ["collapsed", "worst_change_pp", "change_pp"]
        return str(gravity.sort_values(by, kind="stable")["variant"].iloc[0])

    @property
    def rows(self) -> list[dict[Hashable, Any]]:
        """Return the rows of `frame` as every outlet lists them: the `lead` first, then in the order of the study."""
        rows = self.table.to_dict("records")
        return sorted(rows, key=lambda row: row["variant"] != self.lead)

    @property
    def outcomes(self) -> Mapping[str, str]:
        """Return the outcome of every variant, as in `frame`."""
        return dict(zip(self.table["variant"], self.table["outcome"], strict=True))

    @property
    def alone(self) -> tuple[str, ...]:
        """Return the keys of the variants that pass, but not after the correction for all variants."""
        return tuple(key for key, outcome in self.outcomes.items() if outcome == PASSES_UNCORRECTED)

    def frame(self) -> pd.DataFrame:
        """Return one row per compressed variant, in the order of the study.

        Columns: `variant` (key), `title`, `outcome` (pass, fail, cannot judge, or "passes uncorrected", without the
        correction for all variants), `reason` (a sentence), `best` (whether it is the one to ship), `top1` (mean
        accuracy, a share), its change `change_pp` with `change_low_pp` and `change_high_pp`; `worst_class` with
        `worst_before` and `worst_after` (mean recalls, shares) and their change `worst_change_pp`, `worst_low_pp`,
        `worst_high_pp`; `lost` and `collapsed` (numbers of classes); `changed_share` (of the predictions; for
        populations, the mean over pairs of members), `retrained_share` (the share in which two baseline models differ),
        `examples` (their number) and `size_ratio` (gzipped bytes as a share of the baseline's; of plain bytes where
        only those are known). Unknown figures are NaN, unknown classes None.
        """
        return self.table.copy()

    def groups_frame(self) -> pd.DataFrame:
        """Return one row per variant and named group that has a limit, the gravest first.

        Columns: `title`, `group`, `examples`, the change `change_pp` with `change_low_pp` and `change_high_pp`,
        `p_holm`, `limit_pp` and `outcome`, one of the gate's.
        """
        names = ["title", "group", "examples", *GROUP_CHANGES, "p_holm", "limit_pp", "outcome"]
        titles = self.table.set_index("variant")["title"]
        parts = [
            verdict.groups.assign(
                title=titles[key],
                change_pp=0 - verdict.groups["drop_pp"],
                change_low_pp=0 - verdict.groups["high_pp"],
                change_high_pp=0 - verdict.groups["low_pp"],
            )
            for key, verdict in self.verdicts.items()
            if len(verdict.groups)
        ]
        if not parts:
            return pd.DataFrame(columns=names)
        table = pd.concat(parts, ignore_index=True)[names]
        table = table[np.isfinite(table["limit_pp"])]
        gravity = table["outcome"].map(OUTCOMES.index)
        return table.iloc[np.lexsort([table["change_pp"], gravity])].reset_index(drop=True)

    def summary(self) -> dict[str, Any]:
        """Return the headline, the alerts, the best variant and the number of variants by outcome."""
        counts = {
            name.replace(" ", "_"): int((self.table["outcome"] == name).sum())
            for name in (*OUTCOMES, PASSES_UNCORRECTED)
        }
        return {
            "headline": self.headline,
            "doubts": [doubt.sentence for doubt in self.doubts],
            "alerts": list(self.alerts),
            "best": self.best,
            **counts,
        }

    def chart(self) -> Drawing:
        """Draw the changes of accuracy and of the worst class of every variant, against their limits."""
        from tfaudit.audits.gate.chart import verdict_chart

        return verdict_chart(
            self.table, (self.limits.overall_drop_pp, self.limits.worst_class_drop_pp)
        )


def _among(variants: int, in_turn: bool) -> str:
    return "among the files of the search" if in_turn else f"among {variants} variants"


def _best(qualified: pd.DataFrame) -> int | None:
    """Return the row to ship: among the smallest files, which hardly differ, the one whose worst class loses least.

    Args:
        qualified: rows that qualify, the smallest last; if a size is unknown, the last is best.
    """
    if qualified.empty:
        return None
    sizes = qualified["size_ratio"]
    if sizes.isna().any():
        return int(qualified.index[-1])
    worst = -pd.to_numeric(qualified["worst_change_pp"]).fillna(0)
    similar = pd.DataFrame({"worst": worst, "size": sizes})[sizes <= (1 + SIMILAR) * sizes.min()]
    return int(similar.sort_values(["worst", "size"], kind="stable").index[0])


def study_verdict(
    measured: Mapping[str, Measurements | None],
    descriptions: pd.DataFrame | None = None,
    limits: Limits = DEFAULT_LIMITS,
    *,
    baseline: str = "dense",
    missing: Mapping[str, Sequence[str]] = MappingProxyType({}),
    sequence: Sequence[str] = (),
) -> StudyVerdict:
    """Judge every compressed variant of a study, and write the headline.

    Every variant has its own verdict. The best one is a choice among them, and the smallest of many that pass may pass
    by chance. It is therefore the smallest file that passes also at the level alpha / number of variants (Bonferroni):
    the probability that it loses more than a limit is then at most that of a single verdict. A fixed sequence from the
    largest file on would be as safe, but a pruned file that fails would stand in the way of all smaller quantized ones.
    If a size is unknown, the best is the last in the order of sparsity; if a sparsity is unknown too, in that of
    `measured`.

    Args:
        measured: results of `measure` by key of the variant, for the number of variants, without which several have no
            best one; None for a single model against a population.
        descriptions: any of `title`, `sparsity`, `bytes`, `gzipped_bytes` of the variants and of the baseline, indexed
            by key.
        limits: limits of the gate; without any, those that `Limits.for_classes` gives.
        baseline: key of the baseline in `descriptions`, "dense" by default.
        missing: a few words on each result that the study lacks, by variant: with any, it does not pass.
        sequence: keys of variants in an order that does not depend on these predictions. Without any, all variants may
            be best, with Bonferroni's correction; with some, only those that pass up to the first that does not [LT].

    Example:
        >>> from tfaudit.audits.gate.measurements import measure
        >>> from tfaudit.predictions import Predictions
        >>> labels = [0] * 500 + [1] * 500
        >>> before, after = Predictions.from_top1(labels, labels), Predictions.from_top1(labels, [1] * 90 + labels[90:])
        >>> print(study_verdict({"int8": measure(before, after)}).headline)
        int8 fails. Recall of class 0 falls from 100.0 to 82.0 %, more than chance explains.
    """
    names = ["title", "sparsity", "bytes", "gzipped_bytes"]
    facts = described([baseline, *measured], names, descriptions)
    known = {key: of_key for key, of_key in measured.items() if of_key is not None}
    limits = limits.for_classes(
        max((len(of_key.classes.names) for of_key in known.values()), default=0)
    )
    plain_bytes = facts["bytes"].astype(float)
    file_bytes = {key: (plain_bytes[baseline], plain_bytes[key]) for key in known}
    verdicts = {
        key: judge(of_key, limits, file_bytes[key]).with_missing(missing.get(key, ()))
        for key, of_key in known.items()
    }
    doubts = _doubts_about_all(verdicts.values())
    verdicts = {key: verdict.with_doubts(doubts) for key, verdict in verdicts.items()}
    alpha = min((of_key.alpha for of_key in known.values()), default=0.05)
    lost = _lost(known, alpha)
    variants = [
        _Variant(
            key,
            str(facts["title"][key]),
            known.get(key),
            verdicts.get(key),
            lost.get(key, ()),
            file_bytes.get(key),
        )
        for key in measured
    ]
    sizes = known_sizes(facts)
    table = _table(variants, facts[SIZES[sizes]])
    order = _order(table["size_ratio"], pd.to_numeric(facts["sparsity"])[1:])
    if sequence:
        qualified, alone = _passing_in_turn(variants, order, sequence)
        best = qualified[-1] if qualified else None
    else:
        qualified, alone = _passing(variants, order, limits)
        best = _best(table.loc[qualified])
    table["best"] = table.index == best
    among = _among(len(table), bool(sequence)) if alone else ""
    headline = " ".join(map(str, doubts)) or _headline(
        variants, best, table, among, _IN_WORDS[sizes]
    )
    if alone:
        table.loc[alone, "outcome"] = PASSES_UNCORRECTED
        table.loc[alone, "reason"] += f" Passes uncorrected; {among} this may be chance."
    return StudyVerdict(
        table=table,
        headline=headline,
        collapsed=_collapsed(variants),
        best=None if best is None else variants[best].key,
        limits=limits,
        verdicts=verdicts,
        lost=lost,
        alpha=alpha,
        doubts=doubts,
        notes=tuple(
            joined_notes({str(facts["title"][key]): verdict for key, verdict in verdicts.items()})
        ),
        sizes=sizes,
        in_turn=bool(sequence),
    )


def _collapsed(variants: Sequence[_Variant]) -> dict[str, str]:
    """Return a sentence for each variant that has lost classes, by key; a doubt comes before it."""
    sentences = {
        variant.key: variant.collapse_in_words() for variant in variants if not variant.doubts
    }
    return {key: sentence for key, sentence in sentences.items() if sentence}


def _doubts_about_all(verdicts: Iterable[Verdict]) -> tuple[Doubt, ...]:
    """Return each doubt once, but those about the outputs of one variant."""
    doubts = (doubt for verdict in verdicts for doubt in verdict.doubts)
    return tuple(dict.fromkeys(doubt for doubt in doubts if doubt.name != OUTPUTS))


def known_sizes(facts: pd.DataFrame) -> str:
    """Return which sizes all files have: `GZIPPED`, or `ON_DISK` if only those are known.

    >>> known_sizes(pd.DataFrame({"bytes": [9.0, 4.0], "gzipped_bytes": [8.0, None]}))
    'on disk'
    """
    plain = facts["gzipped_bytes"].isna().any() and facts["bytes"].notna().all()
    return ON_DISK if plain else GZIPPED


def _table(variants: list[_Variant], sizes: pd.Series) -> pd.DataFrame:
    """Return the table without the best one; the first of the `sizes` is the baseline's."""
    table = pd.DataFrame([variant.row() for variant in variants]).reindex(columns=_COLUMNS)
    sizes = pd.to_numeric(sizes)
    table["size_ratio"] = (sizes.iloc[1:] / sizes.iloc[0]).to_numpy()
    table = table.astype({"lost": "Int64", "collapsed": "Int64", "worst_class": object})
    table["worst_class"] = table["worst_class"].where(table["worst_class"].notna(), None)
    return table


def _passing(
    variants: list[_Variant], order: list[int], limits: Limits
) -> tuple[list[int], list[int]]:
    """Return the rows that pass, in order: those that do so also among all variants, and the others, uncorrected."""
    passing = [row for row in order if variants[row].outcome == PASS]
    qualified = [row for row in passing if variants[row].passes_among(len(variants), limits)]
    return qualified, [row for row in passing if row not in qualified]


def _passing_in_turn(
    variants: list[_Variant], order: list[int], sequence: Sequence[str]
) -> tuple[list[int], list[int]]:
    """Return the rows that pass in the sequence up to the first that does not, and the others that pass."""
    rows = {variant.key: row for row, variant in enumerate(variants)}
    in_turn = [rows[key] for key in sequence if key in rows]
    qualified = set(itertools.takewhile(lambda row: variants[row].outcome == PASS, in_turn))
    passing = [row for row in order if variants[row].outcome == PASS]
    return [row for row in passing if row in qualified], [
        row for row in passing if row not in qualified
    ]


def _order(sizes: pd.Series, sparsities: pd.Series) -> list[int]:
    """Return the rows from the largest file to the smallest, or from the gentlest compression on."""
    by = -sizes if sizes.notna().all() else sparsities if sparsities.notna().all() else 0 * sizes
    return np.argsort(by.to_numpy(float), kind="stable").tolist()  # type: ignore[no-any-return]


def _lost(known: Mapping[str, Measurements], alpha: float) -> dict[str, tuple[str, ...]]:
    """Return the classes that lost recall, by variant: Holm's correction over all classes of all variants."""
    if not known:
        return {}
    classes = [of_key.classes for of_key in known.values()]
    ends = np.cumsum([len(losses.p) for losses in classes])[:-1]
    adjusted = np.split(adjust(np.concatenate([losses.p for losses in classes]), "holm"), ends)
    return {
        key: tuple(np.array(losses.names, object)[(p <= alpha) & (losses.loss > 0)])
        for key, losses, p in zip(known, classes, adjusted, strict=True)
    }


@dataclasses.dataclass(frozen=True)
class _Variant:
    """A variant, its verdict and the sentences on it."""

    key: str
    title: str
    measurements: Measurements | None
    verdict: Verdict | None
    lost: tuple[str, ...]
    file_bytes: tuple[float, float] | None  # of the baseline and of the variant

    @property
    def outcome(self) -> str:
        return CANNOT_JUDGE if self.verdict is None else self.verdict.outcome

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        return () if self.verdict is None else self.verdict.doubts

    def passes_among(self, number: int, limits: Limits) -> bool:
        """Return whether a variant that passes does so after the correction for a number of variants, too."""
        measured = self.measurements
        if number > 1 and measured is not None:
            measured = measured.corrected if measured.variants >= number else None
        return measured is not None and judge(measured, limits, self.file_bytes).outcome == PASS

    @cached_property
    def classes(self) -> pd.DataFrame:
        """The losses of the classes, with those that `collapsed` and their number of `blind` members."""
        if self.measurements is None:
            return pd.DataFrame(columns=["collapsed", "change_pp"])
        losses = self.measurements.classes
        columns = {
            **vars(losses),
            "change_pp": 0 - losses.loss,
            "collapsed": self.measurements.collapsed,
            "blind": self.measurements.blind_members,
        }
        return pd.DataFrame(columns)

    @cached_property
    def worst(self) -> pd.Series | None:
        """The row of `classes` to name first; None without any."""
        row = worst_class(self.classes)
        return None if row is None else self.classes.iloc[row]

    @property
    def reason(self) -> str:
        """The gravest check in few words."""
        if self.verdict is None:
            return "A single model cannot be compared with a population."
        return self.verdict.gravest.reason

    def other_cause(self) -> str:
        """Return the reason as the end of a sentence, or a full stop if it is the worst class, which comes next."""
        gravest = None if self.verdict is None else self.verdict.gravest
        subject = gravest.subject if gravest else ""
        of_recall = gravest is not None and gravest.is_of_recall
        if self.worst is not None and of_recall and subject == self.worst["names"]:
            return "."
        named = subject and self.reason.startswith(subject)  # a name keeps its capital
        return f": {self.reason if named else self.reason[0].lower() + self.reason[1:]}"

    def row(self) -> dict[str, Any]:
        """Return the columns of `StudyVerdict.frame` that measurements give."""
        row: dict[str, Any] = {
            "variant": self.key,
            "title": self.title,
            "outcome": self.outcome,
            "reason": self.reason,
        }
        if self.measurements is not None:
            whole = self.measurements.overall
            row |= {
                "top1": whole.after[0],
                "change_pp": 0 - whole.loss[0],
                "change_low_pp": -whole.high[0],
                "change_high_pp": -whole.low[0],
                "lost": len(self.lost),
                "collapsed": int(self.measurements.collapsed.sum()),
                "changed_share": self.measurements.flips.value,
                "retrained_share": self.measurements.retrained,
                "examples": int(whole.examples[0]),
            }
        if self.worst is not None:
            row |= {
                "worst_class": self.worst["names"],
                "worst_before": self.worst["before"],
                "worst_after": self.worst["after"],
                "worst_change_pp": self.worst["change_pp"],
                "worst_low_pp": -self.worst["high"],
                "worst_high_pp": -self.worst["low"],
            }
        return row

    def gravity(self) -> tuple[bool, float, float]:
        """Return the sort key of variants: whether the worst class collapsed, then its loss, then the overall loss."""
        if self.measurements is None or self.worst is None or self.doubts:
            return False, -np.inf, -np.inf
        overall = self.measurements.overall.loss[0]
        return bool(self.worst["collapsed"]), self.worst["loss"], overall

    def worst_in_words(self) -> str:
        """Return the worst class and its recalls, and whether chance may explain them."""
        worst = self.worst
        if worst is None:
            return "no class has test examples"
        before = 100 * worst["before"]
        recalls = f"from {before:.1f} to {100 * worst['after']:.1f} %"
        if worst["loss"] == 0:
            moves = f"stays at {before:.1f} %"
        else:
            moves = f"{'falls' if worst['loss'] > 0 else 'rises'} {recalls}"
        return f"recall of {class_in_words(worst['names'])} {moves}, {self._certainty(worst)}"

    @property
    def is_certain(self) -> bool:
        """Whether the worst class lost recall, fails or collapsed, and not by chance as far as the data tell."""
        worst = self.worst
        return worst is not None and bool(worst["collapsed"] or self._is_beyond_chance(worst))

    def _is_beyond_chance(self, worst: pd.Series) -> bool:
        checks = [] if self.verdict is None else self.verdict.checks
        failing = {
            check.subject for check in checks if check.outcome == FAIL and check.is_of_recall
        }
        return worst["names"] in {*self.lost, *failing}

    def _certainty(self, worst: pd.Series) -> str:
        checks = [] if self.verdict is None else self.verdict.checks
        limited = [check for check in checks if check.name == "worst_class_drop_pp"]
        if self._is_beyond_chance(worst):
            return "more than chance explains"
        if worst["collapsed"]:
            return f"a collapse{self._blindness(worst)}"
        if limited and limited[0].outcome == PASS:
            return f"within the limit of {limited[0].limit:g} points"
        if worst["low"] > -MARGIN_PP and worst["high"] < MARGIN_PP:
            return f"less than {MARGIN_PP:g} points"
        count = int(worst["examples"])
        few = f"{count:,} examples of it"
        if self.measurements and worst["of_members"] > worst["of_images"]:
            few = f"{max(self.measurements.members)} models"
        interval = f"({-worst['high']:+.1f} to {-worst['low']:+.1f} points)"
        if worst["low"] > 0:
            variants = self.measurements.variants if self.measurements else 1
            of = f" of {variants} variants" if variants > 1 else ""
            others = f"among {len(self.classes):,} classes{of}"
            return f"which {others} may be chance (judged alone: {interval[1:]}"
        return f"but with {few} this may be chance {interval}"

    def _blindness(self, row: Mapping[Hashable, Any] | pd.Series) -> str:
        """Return how many models almost never find a class, as the end of a sentence; empty for a single model."""
        count = self.measurements.members[1] if self.measurements else 0
        if not row["blind"] or count < 2:
            return ""
        return f"; {row['blind']} of {count} models almost never find it"

    def collapse_in_words(self) -> str:
        """Return a sentence on the collapsed classes, the largest loss first; empty without any."""
        collapsed = self.classes[self.classes["collapsed"].astype(bool)]
        rows = collapsed.sort_values("change_pp", kind="stable").to_dict("records")
        if not rows:
            return ""
        recalls = [
            f"from {100 * row['before']:.1f} to {100 * row['after']:.1f} %{self._blindness(row)}"
            for row in rows
        ]
        if len(rows) == 1:
            return f"recall of {class_in_words(rows[0]['names'])} collapsed {recalls[0]}."
        names = [class_in_words(row["names"]) for row in rows]
        each = [f"{name} ({words})" for name, words in zip(names, recalls, strict=True)]
        return f"{len(rows)} of {len(self.classes):,} classes collapsed: {listed(each, NAMED)}."


def _headline(
    variants: list[_Variant], best: int | None, table: pd.DataFrame, among: str, which_bytes: str
) -> str:
    """Return the verdict, then the worst class of all variants; `among` says how many if some pass uncorrected."""
    gravest = max(variants, key=_Variant.gravity)
    if best is None:
        none = _none_passes(variants, among)
        return f"{none} {_of_the_worst(gravest, len(variants) > 1)}".rstrip()
    chosen = variants[best]
    ratio = table["size_ratio"][best]
    size = f" with {100 * ratio:.1f} % of the {which_bytes}" if np.isfinite(ratio) else ""
    if among:
        passes = f"passes, also {among}{',' if size else ''}"
    elif table["outcome"].eq(PASS).sum() == 1:
        passes = "passes"
    else:
        passes = "is the smallest that passes," if size else "passes"
    points = round(table["change_pp"][best], 1)
    change = f": accuracy changes by {f'{points:+.1f}' if points else '0.0'} points"
    first = f"{chosen.title} {passes}{size}{change}; {chosen.worst_in_words()}."
    others = [variant for variant in variants if variant is not chosen and variant.outcome == FAIL]
    if not others:
        return first
    return f"{first} {_of_the_worst(max(others, key=_Variant.gravity), True)}"


def _none_passes(variants: list[_Variant], among: str) -> str:
    if among:
        passing = [variant.title for variant in variants if variant.outcome == PASS]
        verb = "passes" if len(passing) == 1 else "pass"
        return f"No variant is recommended: {listed(passing)} {verb} uncorrected, but {among} this may be chance."
    failed = sum(variant.outcome == FAIL for variant in variants)
    undecided = len(variants) - failed
    if len(variants) == 1:
        return f"{variants[0].title} {'fails' if failed else 'cannot be judged'}{variants[0].other_cause()}"
    fail = f"{failed} {'fails' if failed == 1 else 'fail'}" if failed else ""
    unknown = f"{undecided} cannot be judged" if undecided else ""
    return f"No variant passes: {', '.join(filter(None, [fail, unknown]))}."


def _of_the_worst(variant: _Variant, named: bool) -> str:
    if variant.worst is None or variant.doubts:
        return ""
    words = variant.worst_in_words()
    if not named:
        return f"{words[0].upper()}{words[1:]}."
    if variant.outcome != FAIL:
        return f"Under {variant.title}, {words}."
    # The class that loses most may lose it by chance, while another class or the whole fails.
    if not variant.is_certain:
        return f"Do not ship {variant.title}{variant.other_cause()}"
    return f"Do not ship {variant.title}: {words}."
