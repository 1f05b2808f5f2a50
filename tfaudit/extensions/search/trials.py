"""Outcomes of the candidates so far, which others therefore need not be tried, and the verdicts on those judged."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Sequence
from typing import cast

import numpy as np
import pandas as pd

from tfaudit.audits.gate.checks import FAIL, PASS
from tfaudit.audits.gate.gate import Verdict, judge
from tfaudit.audits.gate.limits import FILE_LIMITS, Limits
from tfaudit.audits.gate.measurements import Measurements, measure
from tfaudit.compress.keras_archive import weight_bytes
from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.compress.litert.latency import limited_latency
from tfaudit.datasets.dataset import Dataset
from tfaudit.errors import InputError
from tfaudit.extensions.search.candidate_store import BASELINE, CandidateStore
from tfaudit.extensions.search.candidates import Candidate, Preparation, with_remedies
from tfaudit.extensions.search.search_inputs import SearchInputs, named_groups
from tfaudit.extensions.search.smallest_file import NO_FILE
from tfaudit.predictions import Predictions
from tfaudit.stats.ranking import RankedClasses
from tfaudit.study.variants import Pruned

REACH = 2.0
"""A remedy is tried if the confidence interval of the loss exceeds the limit by at most this many limits."""


PARTS = 20
"""Parts of alpha, of which files in floats have 1, plain files 9, and others 10. The first lose hardly anything."""


@dataclasses.dataclass(frozen=True)
class Trial:
    """Outcome of a candidate.

    Attributes:
        outcome: outcome of the gate on the selection part, "no file" or "not tried".
        reason: why there is no file, or why it was not tried; empty for a file that was tested.
        size: size of the file in bytes, even if it was left out as too large.
        content: bytes of the flatbuffer; empty if none was tested.
        measured: measurements of the gate on the selection part; None if no file was tested.
        verdict: verdict of the gate on these measurements; None if no file was tested.
    """

    outcome: str
    reason: str = ""
    size: int = 0
    content: bytes = b""
    measured: Measurements | None = None
    verdict: Verdict | None = None

    @property
    def in_words(self) -> str:
        """The reason, or the gravest check of the verdict."""
        return self.reason if self.verdict is None else self.verdict.gravest.reason


class Trials:
    """The trials of a search.

    Attributes:
        by_key: trial of each candidate by its key, in the order in which they were tried.
    """

    def __init__(self) -> None:
        self.by_key: dict[str, Trial] = {}
        self._unquantized: dict[str, Verdict] = {}
        # The gentlest pruning that fails with every remedy, by granularity.
        self._hopeless: dict[str, Pruned] = {}

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdicts on the files that were tested, by key of the candidate."""
        return {key: one.verdict for key, one in self.by_key.items() if one.verdict is not None}

    @property
    def passing(self) -> list[str]:
        """The keys of the candidates that pass on the selection part."""
        return [key for key, trial in self.by_key.items() if trial.outcome == PASS]

    def smallest(self) -> str | None:
        """Return the key of the smallest candidate that passes; None if none does."""
        return min(self.passing, key=lambda key: self.by_key[key].size, default=None)

    def sequences(
        self, plain: Sequence[str], fallbacks: Sequence[str], judged: Collection[str]
    ) -> tuple[list[str], list[str]]:
        """Return the keys of the plain and of the other candidates to judge in turn.

        Plain files are in their sequence whatever they lose, so that no label decides it. Others are if they pass, from
        the largest to the smallest. If no file may be judged, the candidate closest to passing is the sequence.

        Args:
            plain: keys of the plain candidates, in the order of the plan.
            fallbacks: keys of the unchanged model's files in floats.
            judged: keys of candidates that a search judged before. They come first among the others, so that none is
                judged again because of what came after it.
        """
        first = [key for key in plain if self.is_small(key)]
        second = sorted(
            set(self.passing).difference(plain, fallbacks),
            key=lambda key: (key not in judged, -self.by_key[key].size, key),
        )
        may_be_judged = first or second or any(map(self.is_small, fallbacks))
        return first, second if may_be_judged else [self.closest()]

    def is_small(self, key: str) -> bool:
        """Return whether a candidate has a file that is not too large, or too slow, for a limit on files."""
        verdict = self.by_key[key].verdict if key in self.by_key else None
        return verdict is not None and all(
            check.outcome == PASS for check in verdict.checks if check.name in FILE_LIMITS
        )

    def closest(self) -> str:
        """Return the key of the tested candidate that is closest to passing."""
        verdicts = self.verdicts
        return max(verdicts, key=lambda key: verdicts[key].headroom)

    def needless(self, candidate: Candidate) -> str:
        """Return why a candidate is left out, given the results of others; empty if it is not."""
        control = candidate.control
        least = candidate.estimate
        if control and control.key in self.by_key:  # a remedy changes no shapes
            least = max(least, self.by_key[control.key].size)
        needless = self.too_large(candidate, least) or self._too_strong(candidate)
        return needless or (self._needs_no_remedy(candidate, control) if control else "")

    def too_large(self, candidate: Candidate, size: float) -> str:
        """Return which file that passes is no larger than a candidate of `size` bytes; empty if none is.

        Plain files of the unchanged model are never too large: no label decides which of them are judged.
        """
        smallest = None if candidate.is_plain else self.smallest()
        needless = smallest and (candidate.is_fallback or size >= self.by_key[smallest].size)
        return f"Not smaller than {smallest}, which passes." if needless else ""

    def is_open(self, candidate: Candidate) -> bool:
        """Return whether a later candidate may still have to be made, given the results so far."""
        if self.float_failure(candidate.preparation):
            return False
        reason = self.needless(candidate)
        waits = candidate.control is not None and reason == _untried(candidate.control)
        return waits or not reason

    def is_judged(self, preparation: Preparation) -> bool:
        """Return whether a model was judged before quantization."""
        return preparation.key in self._unquantized

    def judge_model(self, preparation: Preparation, verdict: Verdict) -> None:
        """Record the verdict on a model before quantization, and the gentlest pruning that fails with every remedy."""
        self._unquantized[preparation.key] = verdict
        if preparation.pruned is None:
            return
        pruned = preparation.pruned.control
        control, *remedied = (
            self._unquantized.get(Preparation(one).key) for one in with_remedies(pruned)
        )
        if control is None or control.outcome != FAIL:
            return
        if all(one.outcome == FAIL if one else control.headroom < -REACH for one in remedied):
            known = self._hopeless.get(pruned.granularity, pruned)
            self._hopeless[pruned.granularity] = min(known, pruned, key=lambda one: one.level)

    def float_failure(self, preparation: Preparation) -> str:
        """Return why a model fails before quantization; empty if it does not, or was not judged."""
        verdict = self._unquantized.get(preparation.key)
        failing = [check for check in verdict.checks if check.outcome == FAIL] if verdict else []
        return f"Fails before it is quantized: {failing[0].reason}" if failing else ""

    def _too_strong(self, candidate: Candidate) -> str:
        """Return which gentler pruning already fails with every remedy worth trying; empty if none does."""
        pruned = candidate.pruned
        gentler = self._hopeless.get(pruned.granularity) if pruned else None
        if pruned is None or gentler is None or gentler.level >= pruned.level:
            return ""
        return f"{Preparation(gentler).key} already fails before it is quantized."

    def _needs_no_remedy(self, candidate: Candidate, control: Candidate) -> str:
        """Return why a candidate with a remedy or an int8 choice is left out because of its control or its model."""
        trial = self.by_key.get(control.key)
        verdict = trial.verdict if trial else None
        unquantized = self._unquantized.get(control.preparation.key)
        if not candidate.is_choice:
            verdict = verdict or unquantized
        elif unquantized is not None and unquantized.outcome != PASS:
            return "Its model does not pass before it is quantized."
        if verdict is None:
            failed = trial is not None and trial.outcome == NO_FILE
            return f"{control.key} has no file." if failed else _untried(control)
        if verdict.outcome == PASS:
            return f"{control.key} passes without a remedy."
        # int8 alone may ruin a model that passes
        too_far = not candidate.is_choice and verdict.headroom < -REACH
        return f"{control.key} is too far from passing." if too_far else ""


def first_level(alpha: float) -> float:
    """Return the level at which plain candidates are judged before their fallbacks.

    >>> first_level(0.05)
    0.0225
    """
    return 9 * alpha / PARTS


def judged_in_turn(
    plain: Sequence[str],
    others: Sequence[str],
    verdict_of: Callable[[str, float], Verdict],
    alpha: float,
    fallbacks: Callable[[], Sequence[str]] | None = None,
) -> dict[str, Verdict]:
    """Return the verdicts on sequences of candidates, each up to the first that does not pass [LT].

    Plain candidates and their fallbacks share half of alpha, of which the fallbacks have a tenth; the others have the
    other half. A sequence that passes as a whole hands its level on: the fallbacks to the plain candidates, and
    these to the others [Wi]. So one of all that pass loses more than a limit no more often than a single verdict at
    `alpha` errs. The order of time does not matter: the fallbacks are judged only if something else does not pass, and
    what did not is then judged again with their level.

    Args:
        plain: keys of the plain candidates, in an order that does not depend on labels.
        others: keys of the others, in an order that does not depend on the examples that judge them.
        verdict_of: function that judges a candidate at a level.
        alpha: level of all sequences together.
        fallbacks: function that returns the keys of the fallbacks, in an order that does not depend on labels; None if
            there are none, and the plain candidates have half of alpha.

    Example:
        >>> from types import SimpleNamespace
        >>> def passes(key, level):
        ...     return SimpleNamespace(outcome="pass", alpha=level)
        >>> verdicts = judged_in_turn(["int8"], ["int4"], passes, 0.04, lambda: ["float16"])
        >>> {key: verdict.alpha for key, verdict in verdicts.items()}
        {'int8': 0.018, 'int4': 0.038}
    """
    verdicts: dict[str, Verdict] = {}

    def all_pass(keys: Sequence[str], level: float) -> bool:
        for key in keys:
            verdicts[key] = verdict_of(key, level)
            if verdicts[key].outcome != PASS:
                return False
        return True

    def pass_but_fallbacks(level: float) -> bool:
        if all_pass(plain, level):
            return all_pass(others, alpha / 2 + level)
        all_pass(others, alpha / 2)
        return False

    if fallbacks is None:
        pass_but_fallbacks(alpha / 2)
        return verdicts
    enough = pass_but_fallbacks(first_level(alpha)) and verdicts
    if not enough and all_pass(fallbacks(), alpha / PARTS):
        pass_but_fallbacks(alpha / 2)
    return verdicts


def _untried(control: Candidate) -> str:
    """Return why a candidate is left out while its control has not been tried."""
    return f"{control.key} was not tried."


class Judge:
    """Judges candidates: all on the selection part, and those in a sequence on the examples that judge them.

    Attributes:
        trials: trials of the candidates.
        baseline_bytes: bytes of the model.
        but_size: limits that do not depend on the file; None if there are none.
        latency_ms: function that returns the limited latency of a file, measured once: another one could change its
            verdict.
        verdict: function that returns the verdict on a candidate at a level, on the examples that judge it.

    Args:
        inputs: model, data and settings of the search.
        store: store of the candidates.
    """

    def __init__(self, inputs: SearchInputs, store: CandidateStore) -> None:
        self._source, self._parts, self._settings = inputs.source, inputs.parts, inputs.settings
        self._store, self.trials = store, Trials()
        self._unchanged = {one.key for one in inputs.plan if one.is_unchanged}
        self.baseline_bytes = weight_bytes(self._source.path)[0]
        limits = self._settings.limits
        others = {
            name: limit for name, limit in limits.settings().items() if name not in FILE_LIMITS
        }
        self.but_size = Limits.from_mapping(others) if others else None
        self.latency_ms = functools.cache(lambda file: limited_latency(file, limits))
        # A plain file is judged when it is made, and again in its sequence.
        self.verdict = functools.cache(self._verdict_at)

    def judge_unchanged(self) -> None:
        """Judge the model itself; raise an `InputError` for a baseline that casts doubt on every verdict."""
        unchanged = self._selected(self._before)
        for doubt in judge(unchanged, self._settings.limits, (1, 1)).doubts:
            got = f"a baseline by which the gate cannot judge: {doubt.sentence}"
            raise InputError("model", got.rstrip("."), "one that knows the classes of the data")
        if self.but_size is not None:
            self.trials.judge_model(Preparation(), judge(unchanged, self.but_size))

    def judge_model(self, preparation: Preparation, after: Predictions) -> None:
        """Judge a trained model on the selection part, before it is quantized."""
        measured = self._selected(after)
        self.trials.judge_model(preparation, judge(measured, cast(Limits, self.but_size)))

    def trial(self, content: bytes, after: Predictions) -> Trial:
        """Return the trial of a file: the verdict on its predictions on the selection part."""
        measured = self._selected(after)
        verdict = self._judged(content, measured)
        return Trial(verdict.outcome, "", len(content), content, measured, verdict)

    def part(self, key: str) -> Dataset:
        """Return the examples that judge a candidate."""
        return self._parts.plain if key in self._unchanged else self._parts.held_out

    def measurements(self, key: str, alpha: float) -> Measurements:
        """Return the measurements of a candidate on the examples that judge it."""
        part = self.part(key)
        before, after = self.predicted(part, BASELINE), self.predicted(part, key)
        return self._measured(part, before, after, alpha)

    def _selected(self, after: Predictions) -> Measurements:
        """Return the measurements of a model or file on the selection part."""
        return self._measured(self._parts.selection, self._before, after, self._settings.alpha)

    def _measured(
        self, part: Dataset, before: Predictions, after: Predictions, alpha: float
    ) -> Measurements:
        measured = measure(before, after, alpha=alpha)
        if self._settings.limits.group_drop_pp is None:
            return measured
        return measured.with_groups(before, after, named_groups(part))

    def predicted(self, part: Dataset, key: str) -> Predictions:
        """Return predictions on examples that judge; those of the selection part are stored already."""
        selection, held_out = self._parts.selection, self._parts.held_out

        def predict() -> RankedClasses:
            forward = self._source.forward if key == BASELINE else self.file(key)
            return self._settings.ranked(forward, held_out)

        ranked = self._store.held_out(key, predict)
        if part is held_out:
            return Predictions.on(part, ranked)
        selected = cast(Predictions, self._store.predictions(key)).member(0)
        known = np.concatenate([selection.example_ids, held_out.example_ids])
        rows = pd.Index(known).get_indexer(part.example_ids)
        return Predictions.on(part, RankedClasses.joined([selected, ranked]).take(rows))

    def file(self, key: str, kernels: str | None = None) -> Flatbuffer:
        """Return the inference of a candidate's file."""
        return self._settings.file(self.trials.by_key[key].content, kernels)

    @functools.cached_property
    def _before(self) -> Predictions:
        """The predictions of the model on the selection part."""
        stored = self._store.predictions(BASELINE)
        if stored is not None:
            return stored
        ranked = self._settings.ranked(self._source.forward, self._parts.selection)
        return self._store.save(BASELINE, ranked, self.baseline_bytes)

    def _verdict_at(self, key: str, alpha: float) -> Verdict:
        return self._judged(self.trials.by_key[key].content, self.measurements(key, alpha))

    def _judged(self, content: bytes, measured: Measurements) -> Verdict:
        sizes = self.baseline_bytes, len(content)
        return judge(measured, self._settings.limits, sizes, self.latency_ms(content))
