"""Outcomes of the candidates so far, and which others therefore need not be tried."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence

from tfaudit.audits.gate.checks import FAIL, PASS
from tfaudit.audits.gate.gate import Verdict
from tfaudit.audits.gate.limits import FILE_LIMITS
from tfaudit.audits.gate.measurements import Measurements
from tfaudit.extensions.search.candidates import Candidate, Preparation, with_remedies
from tfaudit.extensions.search.smallest_file import NO_FILE
from tfaudit.study.variants import Pruned

REACH = 2.0
"""A remedy is tried if the confidence interval of the loss exceeds the limit by at most this many limits."""


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
        self, plain: Collection[str], judged: Collection[str]
    ) -> tuple[list[str], list[str]]:
        """Return the keys of the plain and of the other candidates to judge in turn, from the largest to the smallest.

        Plain files are in the sequence whatever they lose, so that no label decides it, but not those that are too
        large for a limit; others are if they pass. Without any, the candidate closest to passing is the sequence.

        Args:
            plain: keys of the plain candidates.
            judged: keys of candidates that a search judged before; they come first, so that none is judged again
                because of what came after it.
        """
        small = [
            key
            for key, verdict in self.verdicts.items()
            if all(check.outcome == PASS for check in verdict.checks if check.name in FILE_LIMITS)
        ]
        families = [key for key in small if key in plain], set(self.passing).difference(plain)
        first, second = (
            sorted(keys, key=lambda key: (key not in judged, -self.by_key[key].size, key))
            for keys in families
        )
        return first, second if first or second else [self.closest()]

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

        Plain files of the unchanged model are never too large: they lose least, and the sequence begins with them.
        """
        smallest = None if candidate.is_plain else self.smallest()
        needless = smallest and size >= self.by_key[smallest].size
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


def judged_in_turn(
    plain: Sequence[str],
    others: Sequence[str],
    verdict_of: Callable[[str, float], Verdict],
    alpha: float,
) -> dict[str, Verdict]:
    """Return the verdicts on two sequences of candidates, each up to the first that does not pass [LT].

    Each has half of alpha. If all plain candidates pass, the others have all of it [Wi]. So one of all that pass loses
    more than a limit no more often than a single verdict at `alpha` errs.

    Args:
        plain: keys of the plain candidates, in an order that does not depend on labels.
        others: keys of the others, in an order that does not depend on the examples that judge them.
        verdict_of: function that judges a candidate at a level.
        alpha: level of both sequences together.
    """
    verdicts: dict[str, Verdict] = {}
    for sequence in (plain, others):
        all_pass = sequence is others and all(
            key in verdicts and verdicts[key].outcome == PASS for key in plain
        )
        for key in sequence:
            verdicts[key] = verdict_of(key, alpha if all_pass else alpha / 2)
            if verdicts[key].outcome != PASS:
                break
    return verdicts


def _untried(control: Candidate) -> str:
    """Return why a candidate is left out while its control has not been tried."""
    return f"{control.key} was not tried."
