"""The search for the smallest flatbuffer that passes a gate: `compress_to_limits`."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
import pandas as pd

from tfaudit.audits.gate.checks import PASS
from tfaudit.audits.gate.gate import Verdict
from tfaudit.audits.gate.limits import DEFAULT_LIMITS, Limits
from tfaudit.audits.verdict.study_verdict import study_verdict
from tfaudit.compress.litert.latency import latencies
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.examples import as_dataset
from tfaudit.errors import InputError, listed, number, one_line, plural, require
from tfaudit.extensions.search.candidate_models import CandidateMaker, OutOfTimeError
from tfaudit.extensions.search.candidate_store import (
    BASELINE,
    FOLDER,
    CandidateStore,
    remove_earlier_results,
    require_same_search,
)
from tfaudit.extensions.search.candidates import Candidate, Preparation
from tfaudit.extensions.search.progress import (
    CONVERTING,
    MEASURING,
    TRAINING,
    SearchProgress,
    Task,
)
from tfaudit.extensions.search.search_inputs import SearchInputs, SourceModel
from tfaudit.extensions.search.search_settings import SearchSettings
from tfaudit.extensions.search.smallest_file import (
    COLUMNS,
    NO_FILE,
    NOT_TRIED,
    SmallestFile,
    shortfall,
)
from tfaudit.extensions.search.trials import Judge, Trial, first_level, judged_in_turn
from tfaudit.runtime.listed_options import with_options_of
from tfaudit.store.files import lock

if TYPE_CHECKING:
    from typing import TypeAlias

    Model: TypeAlias = keras.Model | str | Path

ROUNDS = 10
"""Number of rounds in which latencies are measured."""

ENDED = "The budget ended"
"""Beginning of the reason for a candidate that the search had no time for."""


@with_options_of(SearchSettings, "limits")
def compress_to_limits(
    model: Model,
    data: Any,
    limits: Limits = DEFAULT_LIMITS,
    *,
    train: Any = None,
    out: str | Path | None = None,
    budget: float | None = None,
    progress: SearchProgress | str | None = None,
    **settings: Any,
) -> SmallestFile:
    """Search for the smallest TensorFlow Lite file that keeps to limits, and judge it.

    Candidates are all kinds of quantization of the unpruned model and, with training data, of pruned and fine-tuned
    models, without channels or weights. If int8 narrowly fails, it is also tried with its last layer in float, with
    ranges that end at percentiles, with the layers that it harms most in float and, with training data, after training
    for int8. The plain files of the unpruned model are tried first, its files in floats only if none of them passes.
    Others follow if they may be smaller than a file that passes already, those with training from the least pruning up
    to the one that fails.

    Plain files, of the unpruned model with weights of 8 bits, use no label of the data. All examples judge them, but
    for those that calibrate int8, as soon as they are made, in a fixed sequence up to the first that does not pass
    [LT]. If one does not, the unpruned model's files in floats are judged in the same way. All other files depend on
    labels, since they are made or tried because of how files did on the selection part, to which the data are split at
    random, stratified by class. Those that pass there are judged on the held-out part, which had no share in their
    choice, from the largest down to the first that does not pass. Plain files have half of `alpha`, of which files in
    floats have a tenth, and the others have the other half; a group that passes as a whole hands its level on [Wi]. The
    smallest file that passes is the result. So the probability that it loses more than a limit is that of a single
    verdict. Without a pass, `needed` says which limit binds and what would be needed.

    Args:
        model: a Keras 3 model, which does not change, or the path of a `.keras` file.
        data: labelled examples that the model was not trained on: `(x, y)`, a `tf.data.Dataset` of these,
            `tfaudit.Examples` or a `tfaudit` data set, as the model takes them.
        limits: limits that the gate checks; without any, those that `Limits.for_classes` gives.
        train: training data, in the same forms; None prunes nothing and calibrates int8 with random images of the
            selection part, which then judge no plain file.
        out: directory for the file, the report and all candidates; an interrupted search resumes there. None keeps no
            files.
        budget: seconds after which the search ends with the best candidate so far; None for no limit. The current
            training, measurement or conversion is abandoned, and finished ones are kept. Judging comes on top.
        progress: "auto" shows progress; None does not.
        **settings: `training`, `held_out`, `seed`, `alpha`, `output`, `scores_are`, `batch_size`, `kernels`,
            `full_integer` and `per_tensor`, as in `tfaudit.extensions.search.search_settings.SearchSettings`.

    Raises:
        InputError: a model, data or a setting that cannot be used, a model that knows no more than chance, or a
            directory with another search.

    >>> images = np.random.default_rng(0).random((400, 4), dtype="float32")
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4, kernel_initializer="identity")])
    >>> found = compress_to_limits(model, (images, images.argmax(axis=1)), Limits(overall_drop_pp=5))
    >>> found.outcome, found.content[4:8]
    ('pass', b'TFL3')
    """
    chosen = SearchSettings(limits=limits, **settings)
    with tempfile.TemporaryDirectory() as folder:
        return find_smallest_file(
            SourceModel.of(model, chosen.output, Path(folder)),
            as_dataset(data, "data", "test"),
            None if train is None else as_dataset(train, "train", "train"),
            chosen,
            None if out is None else Path(out),
            budget=budget,
            progress=SearchProgress.chosen(progress),
        )


def find_smallest_file(
    source: SourceModel,
    data: Dataset,
    train: Dataset | None,
    settings: SearchSettings,
    out: Path | None,
    *,
    budget: float | None,
    progress: SearchProgress,
) -> SmallestFile:
    """Search as `compress_to_limits` does, with a model that is opened, and data that are read."""
    require(budget is None or number(budget) > 0, "budget", budget, "seconds above 0")
    inputs = SearchInputs.of(source, data, train, settings)
    with contextlib.ExitStack() as stack:
        directory = out or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        require_same_search(directory, inputs.identity)
        stack.enter_context(lock(directory / FOLDER, "tfaudit compress"))
        store = CandidateStore(directory, inputs)
        remove_earlier_results(directory)
        search = _Search(inputs, store)
        found = dataclasses.replace(search.run(budget, progress), directory=out)
        if out is not None:
            from tfaudit.extensions.search.search_report import write_search  # half of the imports

            write_search(inputs, store, search.judge, found, search.sequence_of(found.chosen))
    return found


class _Search:
    """One search: what it has made and measured so far."""

    def __init__(self, inputs: SearchInputs, store: CandidateStore) -> None:
        self._parts, self._settings, self._store = inputs.parts, inputs.settings, store
        self._plan = {one.key: one for one in inputs.plan}
        self.judge = Judge(inputs, store)
        self._trials = self.judge.trials
        self._plain = [one.key for one in inputs.plan if one.is_plain]
        self._fallbacks = [one.key for one in inputs.plan if one.is_fallback]
        self._others: list[str] = []  # to judge
        self._ends: float | None = None
        self._interrupted = ""  # what the budget interrupted
        self._maker = CandidateMaker(inputs, store, is_over=self._is_over)

    def run(self, budget: float | None, progress: SearchProgress) -> SmallestFile:
        """Try the candidates, choose one, and judge it."""
        self._ends = None if budget is None else time.monotonic() + budget
        with progress:
            progress.doing("predicting with the model")
            self.judge.judge_unchanged()
            left = [*self._plan.values()]
            progress.begin(left, self._ends)
            while left:
                candidate = left.pop(0)
                trial = self._tried(candidate, progress)
                self._trials.by_key[candidate.key] = trial
                rest = filter(self._trials.is_open, left)
                progress.end(candidate, trial, [self._task(one) for one in rest])
                self._show_verdict(candidate, progress)
            progress.doing("judging on the examples held out")
            return self._judged()

    def _show_verdict(self, candidate: Candidate, progress: SearchProgress) -> None:
        """Judge a plain file as soon as it is made, if those before it pass; what is tried does not depend on it."""
        made = [*filter(self._trials.is_small, self._plain)]
        if candidate.key not in made or self._is_over():
            return
        progress.doing("judging a file")
        alpha = self._settings.alpha
        level = first_level(alpha) if self._fallbacks else alpha / 2
        if all(self.judge.verdict(key, level).outcome == PASS for key in made):
            progress.judged(candidate, self.judge.part(candidate.key).num_examples)

    def sequence_of(self, key: str) -> Sequence[str]:
        """Return the keys of the sequence that a candidate was judged in."""
        sequences = self._fallbacks, self._plain, self._others
        return next(one for one in sequences if key in one)

    def _tried(self, candidate: Candidate, progress: SearchProgress) -> Trial:
        """Return the trial of a candidate, from this search or an earlier one."""
        if failure := self._store.failure(candidate.key):
            return Trial(NO_FILE, failure)
        if after := self._store.predictions(candidate.key):
            return self.judge.trial(self._store.flatbuffer(candidate.key), after)
        reason = self._trials.needless(candidate)
        if not reason:
            over = f"{ENDED} before." if self._is_over() else ""
            reason = over or self._trials.float_failure(candidate.preparation)
        if reason:
            return Trial(NOT_TRIED, reason)
        progress.start(candidate, self._task(candidate))
        return self._made(candidate)

    def _made(self, candidate: Candidate, *, whatever_size: bool = False) -> Trial:
        """Make, test and store a candidate's file, unless its model already fails or the file is too large."""
        try:
            if failure := self._failure_before_quantization(candidate.preparation):
                return Trial(NOT_TRIED, failure)
            content = self._maker.flatbuffer(candidate)
            # Checked before the test, which takes 0.1 s per image for int16x8.
            needless = self._trials.too_large(candidate, len(content))
            if needless and not whatever_size:
                return Trial(NOT_TRIED, needless, len(content))
            ranked = self._settings.ranked(self._settings.file(content), self._batches())
        except InputError as problem:
            failure = one_line(problem)
            self._store.save_failure(candidate.key, failure)
            return Trial(NO_FILE, failure)
        except OutOfTimeError as doing:
            self._interrupted = f' while "{candidate.title}" {doing}'
            return Trial(NOT_TRIED, f"{ENDED} while it {doing}.")
        after = self._store.save(candidate.key, ranked, len(content), tflite=content)
        return self.judge.trial(content, after)

    def _failure_before_quantization(self, preparation: Preparation) -> str:
        """Return why a trained model fails before it is quantized; empty if it does not fail."""
        if self.judge.but_size is not None and not self._trials.is_judged(preparation):
            self.judge.judge_model(preparation, self._maker.predictions(preparation))
        return self._trials.float_failure(preparation)

    def _batches(self) -> Iterator[Any]:
        """Yield the examples of the selection part in batches, until the budget ends."""
        for batch in self._parts.selection.batches(self._settings.batch_size):
            if self._is_over():
                raise OutOfTimeError("was tested")
            yield batch

    def _task(self, candidate: Candidate) -> Task:
        """Return the slowest step in making a candidate, and its number among steps of this sort."""
        if not self._maker.is_trained(candidate.preparation):
            return TRAINING, candidate.preparation.key
        if candidate.layers and not self._maker.is_measured(candidate.kind):
            return MEASURING, candidate.kind
        return CONVERTING, candidate.key

    def _judged(self) -> SmallestFile:
        """Judge the candidates in turn, choose one and return the result, without writing its files."""
        trials = self._trials.by_key
        if not self._trials.verdicts:
            # why a file could not be made says more than why others were left out
            first = min(trials.values(), key=lambda trial: trial.outcome != NO_FILE)
            raise InputError(
                "model",
                f"no candidate that could be tried ({first.reason})",
                "a longer budget, or a model that TensorFlow Lite converts",
            )
        earlier = self._store.judged()
        self._plain, self._others = self._trials.sequences(self._plain, self._fallbacks, earlier)
        verdicts = judged_in_turn(
            self._plain,
            self._others,
            self.judge.verdict,
            self._settings.alpha,
            self._made_fallbacks if self._fallbacks else None,
        )
        passing = [key for key in verdicts if verdicts[key].outcome == PASS]
        chosen = (
            min(passing, key=lambda key: trials[key].size)
            if passing
            else max(verdicts, key=lambda key: verdicts[key].headroom)
        )
        candidate = self._plan[chosen]
        content = trials[chosen].content
        verdict = verdicts[chosen]
        outcomes = {key: one.outcome for key, one in verdicts.items()}
        table = self._table(chosen, outcomes)
        unfinished = sum(trial.reason.startswith(ENDED) for trial in trials.values())
        return SmallestFile(
            table=table,
            chosen=chosen,
            title=candidate.title,
            content=content,
            verdict=verdict,
            limits=self._settings.limits,
            needed=()
            if passing
            else shortfall(
                verdict,
                self.judge.measurements(chosen, verdict.alpha),
                self._trials.verdicts,
                table,
            ),
            judged=outcomes,
            judged_on=self._parts.in_words(plain=candidate.is_unchanged),
            examples=(self._parts.selection.num_examples, verdict.examples),
            stopped=f"{ENDED}{self._interrupted}; {unfinished} candidates are left."
            if unfinished
            else "",
            notes=(*self._notes(candidate, verdict, outcomes, earlier), *verdict.notes),
            directory=None,
        )

    def _made_fallbacks(self) -> list[str]:
        """Return the keys of the files in floats that may be judged; make those that the search left out."""
        for key in self._fallbacks:
            trial = self._trials.by_key[key]
            if trial.outcome == NOT_TRIED and not self._is_over():
                self._trials.by_key[key] = self._made(self._plan[key], whatever_size=True)
        self._fallbacks = [*filter(self._trials.is_small, self._fallbacks)]
        return self._fallbacks

    def _notes(
        self,
        candidate: Candidate,
        verdict: Verdict,
        outcomes: Mapping[str, str],
        earlier: Collection[str],
    ) -> Iterator[str]:
        """Yield sentences on the level, on files that were left or judged before, on layers and on clipped values."""
        alpha = self._settings.alpha
        if verdict.alpha != alpha:
            yield (
                f"Judged at alpha {verdict.alpha:g} of {alpha:g}: plain files share half of it with files in floats, "
                "files that the search chose have the other half, and a group that passes hands its level on."
            )
        titles = {key: one.title for key, one in self._plan.items()}
        in_turn = {
            "does not pass; {} not judged.": self._plain,
            "passes on the selection part but not on the held-out part; {} not judged there.": self._others,
        }
        for text, sequence in in_turn.items():
            judged = [key for key in sequence if key in outcomes]
            if number := len(sequence) - len(judged):
                left = (
                    f"{plural(number, 'further file')} {'is' if number == 1 else 'are'} therefore"
                )
                yield f"{titles[judged[-1]]} {text.format(left)}"
        if outside := [titles[key] for key in titles if key in {*earlier} - {*outcomes}]:
            yield f"An earlier search in this directory judged {listed(outside)}."
        # layers that were chosen by their cost
        types = self._maker.layer_types(candidate)
        for dtype in dict.fromkeys(types.values()):
            yield f"In {dtype}: {', '.join(name for name in types if types[name] == dtype)}."
        yield from self._clipped(candidate.key)
        if self._settings.kernels != "default":
            yield self._of_kernels(candidate.key)

    def _clipped(self, key: str) -> Iterator[str]:
        """Yield a sentence on how many values a file clips of the examples that judge it, if any."""
        network = self.judge.file(key)
        batches = self.judge.part(key).batches(self._settings.batch_size)
        beyond, values = np.sum([network.outside(inputs) for inputs, _ in batches], axis=0)
        if beyond:
            yield (
                f"{beyond:,} of {values:,} input values of the examples that judged the file lie outside the range "
                "that it was calibrated with, and are clipped."
            )

    def _of_kernels(self, key: str) -> str:
        """Return a sentence on the predictions of a file that other kernels than the default ones change."""
        part = self.judge.part(key)
        usual = self._settings.ranked(self.judge.file(key, "default"), part).classes[:, 0]
        differ = int((usual != self.judge.predicted(part, key).top1[0]).sum())
        return (
            f"Files are judged with {self._settings.kernels} kernels. They predict another class than the default ones "
            f"for {differ:,} of {len(usual):,} examples."
        )

    def _table(self, chosen: str, outcomes: Mapping[str, str]) -> pd.DataFrame:
        """Return one row per candidate, the smallest first; candidates without a file stand at their estimated size."""
        trials = self._trials.by_key
        planned = pd.DataFrame(
            {
                "candidate": one.key,
                "title": one.title,
                "outcome": trials[one.key].outcome,
                "judged": outcomes.get(one.key, ""),
                "judged_examples": self.judge.part(one.key).num_examples
                if one.key in outcomes
                else np.nan,
                "chosen": one.key == chosen,
                "bytes": len(trials[one.key].content) or np.nan,
                "expected": one.estimate,
                "reason": trials[one.key].in_words,
            }
            for one in self._plan.values()
        ).set_index("candidate", drop=False)
        measured = {key: trial.measured for key, trial in trials.items() if trial.measured}
        facts = planned[["title", "bytes"]]
        facts.loc[BASELINE, "bytes"] = self.judge.baseline_bytes
        limits = self._settings.limits
        tested = study_verdict(measured, facts, limits, baseline=BASELINE).frame()
        tested = tested.set_index("variant").drop(columns=["outcome", "reason"])
        table = tested.combine_first(planned)
        table["latency_1_ms"] = pd.Series(self._latencies(chosen), dtype=float)
        table["order"] = table["bytes"].fillna(table["expected"])
        table = table.sort_values(["order", "candidate"], kind="stable").reindex(columns=[*COLUMNS])
        return table.astype({"bytes": "Int64", "judged_examples": "Int64"}).reset_index(drop=True)

    def _latencies(self, chosen: str) -> dict[str, float]:
        """Return the latency of the chosen file, or that of every tested one if it is limited."""
        trials = self._trials.by_key
        if self._settings.limits.latency_ms is not None:
            return {
                key: self.judge.latency_ms(trials[key].content) for key in self._trials.verdicts
            }
        try:
            times = latencies({chosen: trials[chosen].content}, batches=[1], repeats=ROUNDS)
        except InputError:  # a network whose inputs cannot be drawn at random
            return {}
        return {chosen: float(times["latency_ms"][0])}

    def _is_over(self) -> bool:
        return self._ends is not None and time.monotonic() >= self._ends
