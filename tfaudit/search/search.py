"""The search for the smallest flatbuffer that passes a gate: `compress_to_limits`."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
import pandas as pd

from tfaudit.audits.gate.checks import FAIL, PASS
from tfaudit.audits.gate.gate import Verdict, gate, judge
from tfaudit.audits.gate.limits import DEFAULT_LIMITS, Limits
from tfaudit.audits.gate.measurements import Measurements, measure
from tfaudit.audits.verdict.study_verdict import study_verdict
from tfaudit.compress.keras_model import check_model
from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.compress.litert.inference import predict
from tfaudit.compress.litert.latency import latencies
from tfaudit.compress.litert.quantize import ConversionError
from tfaudit.compress.model_comparison import RANKS, predictions_of
from tfaudit.compress.model_files import weight_bytes
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.examples import Examples
from tfaudit.datasets.structure import mapped
from tfaudit.errors import InputError, one_line, require
from tfaudit.population.member import model_bytes
from tfaudit.predictions import Predictions
from tfaudit.search.candidate_models import CandidateMaker, OutOfTimeError, weights_seal
from tfaudit.search.candidate_store import (
    BASELINE,
    FOLDER,
    Attempt,
    CandidateStore,
    require_same_search,
)
from tfaudit.search.candidates import Candidate, Preparation, candidates, with_remedies
from tfaudit.search.progress import (
    CONVERTING,
    MEASURING,
    TRAINING,
    SearchProgress,
    chosen_progress,
)
from tfaudit.search.search_data import (
    Parts,
    fingerprint,
    in_memory,
    read_data,
    require_same_range,
)
from tfaudit.search.search_report import write_search
from tfaudit.search.search_settings import FINE_TUNING, SearchSettings
from tfaudit.search.shortfall import SIZES, shortfall
from tfaudit.search.smallest_file import COLUMNS, NO_FILE, NOT_TRIED, SmallestFile
from tfaudit.search.source_model import SourceModel
from tfaudit.stats.ranking import RankedClasses
from tfaudit.store.files import lock
from tfaudit.study.training import Training
from tfaudit.study.variants import Pruned

if TYPE_CHECKING:
    from typing import TypeAlias

    Model: TypeAlias = keras.Model | str | Path

ROUNDS = 10
"""Number of rounds in which latencies are measured."""

REACH = 2.0
"""A remedy is tried where the interval of what is lost ends at most this many limits above the limit."""


def compress_to_limits(
    model: Model,
    data: Any,
    limits: Limits = DEFAULT_LIMITS,
    *,
    train: Any = None,
    training: Training = FINE_TUNING,
    out: str | Path | None = None,
    budget: float | None = None,
    held_out: float = 0.5,
    seed: int = 0,
    alpha: float = 0.05,
    batch_size: int = 32,
    output: str | None = None,
    scores_are: str = "auto",
    progress: SearchProgress | str | None = None,
) -> SmallestFile:
    """Search for the smallest TensorFlow Lite file that keeps to limits, and judge it once on examples held out.

    Candidates are all kinds of quantization, of the model as it is and, with training data, of the model after channels
    or weights are pruned and it is fine-tuned. Where int8 does not pass by little, its last layer stays in float, its
    ranges also end at percentiles, the layers that cost it most stay in float, and with training data the model is
    trained for it. Candidates that need no training are tried first, from small to large; then those that do, as far as
    they may be smaller than what passes already: from what is pruned least, until it fails.

    The data are split at random, stratified by class. The smallest candidate that passes on the one part is chosen.
    Whatever is chosen for passing tends to look better than it is, so the verdict is that of the gate on the other
    part, which had no share in the choice. Where nothing passes, the candidate closest to passing is judged, and
    `needed` says which limit binds and what would be needed.

    Args:
        model: a Keras 3 model, which does not change, or the path of a `.keras` file.
        data: labelled examples that the model was not trained on: `(x, y)`, a `tf.data.Dataset` of these,
            `tfaudit.Examples` or a `tfaudit` data set, as the model takes them.
        limits: of the gate.
        train: training data, in the same forms; without them nothing is pruned, and int8 is calibrated with images of
            the selection part, whose labels it does not see.
        training: how pruned models are fine-tuned; then `recalibrate_batch_norm` estimates their statistics anew.
        out: directory for the file, the report and all candidates; an interrupted search resumes there. None keeps no
            files.
        budget: seconds after which the search ends with the best so far; None for no end. What is being trained,
            measured or converted then is given up, what is finished is kept. Judging takes its time all the same.
        held_out: share of the examples that is held out.
        seed: of the split, of the calibration images and of the training.
        alpha: level of the gate's tests.
        batch_size: examples per step of the predictions.
        output: name of the output of a model with several.
        scores_are: as in `tfaudit.predict`.
        progress: "auto" shows progress; None does not.

    Raises:
        InputError: a model, data or a setting that cannot be used, a model that knows no more than chance, or a
            directory with another search.

    >>> images = np.random.default_rng(0).random((400, 4), dtype="float32")
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4, kernel_initializer="identity")])
    >>> found = compress_to_limits(model, (images, images.argmax(axis=1)), Limits(overall_drop_pp=5))
    >>> found.outcome, found.content[4:8]
    ('pass', b'TFL3')
    """
    require(budget is None or budget > 0, "budget", budget, "seconds above 0")
    settings = SearchSettings(
        limits=limits,
        training=training,
        held_out=held_out,
        seed=seed,
        alpha=alpha,
        output=output,
        scores_are=scores_are,
        batch_size=batch_size,
    )
    with _model_file(model) as path, _directory(out) as directory:
        source = SourceModel(path)
        given = read_data(data, "data")
        examples = in_memory(
            given, "data", _class_names(source.model, given, settings.reading), "test"
        )
        trained_on = None if train is None else _training_data(train, examples)
        parts = Parts.of(examples, held_out, seed, train=trained_on)
        if trained_on is not None:
            require_same_range(trained_on, examples)
        asked = {
            "model": weights_seal(source.model),
            "data": fingerprint(examples),
            "training_data": None if trained_on is None else fingerprint(trained_on),
            **settings.to_json(),
        }
        require_same_search(directory, asked)
        plan = candidates(source.copy, training=trained_on is not None)
        with _locked(directory):
            store = CandidateStore(directory, asked, plan, parts.selection)
            search = _Search(source, store, plan, parts, settings)
            found = search.run(budget, chosen_progress(progress))
            found = dataclasses.replace(found, directory=None if out is None else directory)
            if out is not None:
                name = Path(model).stem if isinstance(model, str | Path) else model.name
                write_search(store, found, search.judged_pair(found.chosen), name, parts, settings)
    return found


class _Search:
    """One search: what it has made and measured so far."""

    def __init__(
        self,
        source: SourceModel,
        store: CandidateStore,
        plan: Sequence[Candidate],
        parts: Parts,
        settings: SearchSettings,
    ) -> None:
        self._source, self._store, self._plan = source, store, plan
        self._parts, self._settings = parts, settings
        self._limits, self._alpha = settings.limits, settings.alpha
        self._baseline_bytes = weight_bytes(source.path)[0]
        self._ends: float | None = None
        self._maker = CandidateMaker(source, store, parts, settings, is_over=self._is_over)
        others = {
            name: limit for name, limit in self._limits.as_dict().items() if name not in SIZES
        }
        self._but_size = Limits.from_mapping(others) if others else None
        self._attempts: dict[str, Attempt] = {}
        self._measured: dict[str, Measurements] = {}
        self._verdicts: dict[str, Verdict] = {}
        self._left_out: dict[str, str] = {}
        self._floats: dict[str, Verdict] = {}  # on models before they are quantized
        # By granularity the gentlest pruning that fails with every remedy.
        self._hopeless: dict[str, Pruned] = {}
        # Of files that were made, also of those that were too large to test.
        self._bytes: dict[str, int] = {}
        self._interrupted = ""  # what the budget interrupted
        self._unfinished = 0  # candidates that are left out because the budget ended

    def run(self, budget: float | None, progress: SearchProgress) -> SmallestFile:
        """Try the candidates, choose one, and judge it."""
        self._ends = None if budget is None else time.monotonic() + budget
        before = self._before()
        unchanged = measure(before, before, alpha=self._alpha)
        broken = judge(unchanged, self._limits, (1, 1)).checks[0]
        if broken.name == "baseline_accuracy":
            raise InputError(
                "model", broken.reason.rstrip(". "), "a model that knows the classes of the data"
            )
        if self._but_size is not None:
            self._floats[Preparation().key] = judge(unchanged, self._but_size)
        plan = self._plan
        with progress:
            progress.begin(plan, self._task, self._ends)
            for number, candidate in enumerate(plan, start=1):
                self._try(candidate, before, plan[number:], progress)
        return self._judged()

    def judged_pair(self, key: str) -> tuple[Predictions, Predictions]:
        """Return the predictions of the model and of the chosen candidate on the held-out part."""
        return (
            self._held_out(BASELINE, self._source.model),
            self._held_out(key, self._attempts[key].content),
        )

    def _before(self) -> Predictions:
        """Return the predictions of the model on the selection part."""
        ranked = self._store.predictions(BASELINE)
        if ranked is None:
            ranked = self._ranked(self._source.model, self._parts.selection)
            self._store.save(BASELINE, ranked, self._baseline_bytes)
        return self._as_predictions(ranked, self._parts.selection)

    def _try(
        self,
        candidate: Candidate,
        before: Predictions,
        rest: Sequence[Candidate],
        progress: SearchProgress,
    ) -> None:
        key, attempt = candidate.key, self._store.attempt(candidate.key)
        if attempt is None:
            if reason := self._is_needless(candidate):
                self._left_out[key] = reason
            elif self._is_over():
                self._left_out[key] = "The budget ended before."
                self._unfinished += 1
            else:
                attempt = self._made(candidate, before, progress)
        if attempt is not None:
            self._attempts[key], self._bytes[key] = attempt, len(attempt.content)
            if attempt.ranked is not None:
                after = self._as_predictions(attempt.ranked, self._parts.selection)
                self._measured[key] = measure(before, after, alpha=self._alpha)
                self._verdicts[key] = judge(self._measured[key], self._limits, self._sizes(key))
        verdict = self._verdicts.get(key)
        outcome = verdict.outcome if verdict else NOT_TRIED if attempt is None else NO_FILE
        size = len(attempt.content) if attempt else 0
        reason = self._left_out.get(key, "")
        progress.end(candidate, outcome, size, reason, [one for one in rest if self._is_open(one)])

    def _made(
        self, candidate: Candidate, before: Predictions, progress: SearchProgress
    ) -> Attempt | None:
        """Make a candidate, predict with it and store both; None if it is left out, as `_left_out` tells."""
        preparation = candidate.preparation
        failure = self._float_failure(preparation)
        if not failure:
            progress.start(candidate)
        try:
            if failure or (
                preparation.key
                and (failure := self._failure_before_quantization(preparation, before))
            ):
                self._left_out[candidate.key] = failure
                return None
            content = self._maker.flatbuffer(candidate)
            self._bytes[candidate.key] = len(content)
            # Before the test, which of int16x8 takes .1 s an image.
            if needless := self._too_large(len(content)):
                self._left_out[candidate.key] = needless
                return None
            ranked = predict(content, self._batches(), k=RANKS, **self._settings.predicting)
        except (ConversionError, InputError) as problem:  # also layers that this kind cannot have
            failure = one_line(problem)
            self._store.save_failure(candidate.key, failure)
            return Attempt(failure=failure)
        except OutOfTimeError as doing:
            self._interrupted = f' while "{candidate.title}" {doing}'
            self._left_out[candidate.key] = f"The budget ended while it {doing}."
            self._unfinished += 1
            return None
        self._store.save(candidate.key, ranked, len(content), tflite=content)
        return Attempt(content, ranked)

    def _batches(self) -> Iterator[Any]:
        """Yield the examples of the selection part in batches, until the budget ends."""
        for inputs, _ in self._parts.selection.batches(self._settings.batch_size):
            if self._is_over():
                raise OutOfTimeError("was tested")
            yield inputs

    def _task(self, candidate: Candidate) -> tuple[str, str]:
        """Return what takes most of the time to make a candidate, and which one of that sort it is."""
        if not self._maker.is_trained(candidate.preparation):
            return TRAINING, candidate.preparation.key
        if candidate.spared and not self._maker.is_measured():
            return MEASURING, ""
        return CONVERTING, candidate.key

    def _is_needless(self, candidate: Candidate) -> str:
        """Return why a candidate is left out by what is known of others; empty if it is not."""
        control = candidate.control
        least = candidate.estimate
        if control:  # a remedy changes no shapes
            least = max(least, self._bytes.get(control.key, 0))
        needless = self._too_large(least) or self._too_strong(candidate)
        return needless or (self._needs_no_remedy(candidate, control) if control else "")

    def _too_large(self, size: float) -> str:
        """Return which file that passes is no larger than one of `size` bytes; empty if none is."""
        smallest = self._smallest()
        needless = smallest and size >= len(self._attempts[smallest].content)
        return f"Not smaller than {smallest}, which passes." if needless else ""

    def _too_strong(self, candidate: Candidate) -> str:
        """Return which gentler pruning fails already, with every remedy that was worth a try; empty if none does."""
        pruned = candidate.pruned
        gentler = self._hopeless.get(pruned.granularity) if pruned else None
        fails = pruned is not None and gentler is not None and gentler.level < pruned.level
        return f"{Preparation(gentler).key} fails already, before it is quantized." if fails else ""

    def _record(self, preparation: Preparation, verdict: Verdict) -> None:
        """Keep the verdict on a model before it is quantized, and the gentlest pruning that fails with every remedy."""
        self._floats[preparation.key] = verdict
        if preparation.pruned is None:
            return
        several = with_remedies(preparation.pruned.control)
        control, *remedied = (self._floats.get(Preparation(pruned).key) for pruned in several)
        if control is None or control.outcome != FAIL:
            return
        if all(
            verdict.outcome == FAIL if verdict else _room(control) < -REACH for verdict in remedied
        ):
            known = self._hopeless.get(several[0].granularity)
            if known is None or several[0].level < known.level:
                self._hopeless[several[0].granularity] = several[0]

    def _needs_no_remedy(self, candidate: Candidate, control: Candidate) -> str:
        """Return why a candidate with a remedy or a choice is left out: because of its control, or of its model."""
        verdict = self._verdicts.get(control.key)
        unquantized = self._floats.get(control.preparation.key)
        if candidate.is_choice and unquantized is not None and unquantized.outcome != PASS:
            return "Its model does not pass before it is quantized."
        if not candidate.is_choice:
            verdict = verdict or unquantized
        if verdict is None:
            return (
                f"{control.key} has no file."
                if control.key in self._attempts
                else _untried(control)
            )
        if verdict.outcome == PASS:
            return f"{control.key} passes without a remedy."
        too_far = (
            not candidate.is_choice and _room(verdict) < -REACH
        )  # int8 alone may ruin a model that passes
        return f"{control.key} is too far from passing." if too_far else ""

    def _is_open(self, candidate: Candidate) -> bool:
        """Return whether a later candidate may still have to be made, by what is known now."""
        if self._float_failure(candidate.preparation):
            return False
        reason = self._is_needless(candidate)
        control = candidate.control
        return not reason or (control is not None and reason == _untried(control))

    def _failure_before_quantization(self, preparation: Preparation, before: Predictions) -> str:
        """Return why a trained model fails before it is quantized; empty if it does not fail."""
        if self._but_size is not None and preparation.key not in self._floats:
            after = self._as_predictions(
                self._maker.predictions(preparation), self._parts.selection
            )
            self._record(
                preparation, judge(measure(before, after, alpha=self._alpha), self._but_size)
            )
        return self._float_failure(preparation)

    def _float_failure(self, preparation: Preparation) -> str:
        verdict = self._floats.get(preparation.key)
        failing = (
            [check.reason for check in verdict.checks if check.outcome == FAIL] if verdict else []
        )
        return f"Fails before it is quantized: {failing[0]}" if failing else ""

    def _judged(self) -> SmallestFile:
        if not self._verdicts:
            reasons = [
                *(attempt.failure for attempt in self._attempts.values()),
                *self._left_out.values(),
            ]
            raise InputError(
                "model",
                f"no candidate that could be tried ({reasons[0]})",
                "a longer budget, or a model that TensorFlow Lite converts",
            )
        chosen = self._smallest() or max(self._verdicts, key=lambda key: _room(self._verdicts[key]))
        before, after = self.judged_pair(chosen)
        verdict = gate(before, after, self._limits, alpha=self._alpha, sizes=self._sizes(chosen))
        table = self._table(chosen)
        needed = shortfall(
            verdict, measure(before, after, alpha=self._alpha), self._verdicts, table
        )
        parts = self._parts
        return SmallestFile(
            table,
            chosen,
            next(candidate.title for candidate in self._plan if candidate.key == chosen),
            self._attempts[chosen].content,
            verdict,
            self._limits,
            needed,
            self._store.judged(),
            (parts.selection.num_examples, parts.held_out.num_examples),
            f"The budget ended{self._interrupted}; {self._unfinished} candidates are left."
            if self._unfinished
            else "",
            (*self._in_float(chosen), *self._clipped(chosen), *verdict.notes),
            None,
        )

    def _in_float(self, chosen: str) -> list[str]:
        """Say which layers of the chosen candidate are in float, where they were chosen by what they cost."""
        candidate = next(one for one in self._plan if one.key == chosen)
        names = self._maker.layers_in_float(candidate) if self._maker.is_measured() else ()
        return [f"In float: {', '.join(names)}."] if names else []

    def _clipped(self, chosen: str) -> list[str]:
        """Say how many values of the held-out part the chosen candidate clips, if any."""
        network = Flatbuffer(self._attempts[chosen].content, output=self._settings.output)
        batches = self._parts.held_out.batches(self._settings.batch_size)
        beyond, values = np.sum([network.outside(inputs) for inputs, _ in batches], axis=0)
        if not beyond:
            return []
        return [
            f"{beyond:,} of {values:,} input values of the held-out part lie outside the range that the file was "
            "calibrated with, and are clipped."
        ]

    def _table(self, chosen: str) -> pd.DataFrame:
        plan = self._plan
        titles = {candidate.key: candidate.title for candidate in plan}
        sizes = {key: len(self._attempts[key].content) for key in self._measured}
        facts = pd.DataFrame({"bytes": {BASELINE: self._baseline_bytes, **sizes}})
        facts["title"] = pd.Series(titles)
        tried = study_verdict(self._measured, facts, self._limits, baseline=BASELINE).frame()
        tried = tried.rename(columns={"variant": "candidate"}).set_index("candidate", drop=False)
        tried["bytes"] = pd.Series(sizes)
        tried["latency_1_ms"] = self._latencies()
        rows = [candidate for candidate in plan if candidate.key not in self._measured]
        others = pd.DataFrame(
            {
                "candidate": candidate.key,
                "title": candidate.title,
                "outcome": NOT_TRIED if candidate.key in self._left_out else NO_FILE,
                "bytes": np.nan,
                "reason": self._left_out.get(candidate.key)
                or self._attempts[candidate.key].failure,
            }
            for candidate in rows
        )
        order = {candidate.key: candidate.estimate for candidate in plan}
        table = pd.concat([tried, others], ignore_index=True).assign(
            chosen=lambda frame: frame["candidate"] == chosen
        )
        table["order"] = table["bytes"].fillna(table["candidate"].map(order))
        table = table.sort_values(["order", "candidate"], kind="stable").reindex(columns=[*COLUMNS])
        return table.astype({"bytes": "Int64"}).reset_index(drop=True)

    def _latencies(self) -> pd.Series:
        contents = {key: self._attempts[key].content for key in self._measured}
        try:
            times = latencies(contents, batches=[1], repeats=ROUNDS)
        except InputError:  # a network of inputs that cannot be drawn
            return pd.Series(np.nan, index=[*contents])
        return times.set_index("model")["latency_ms"]

    def _smallest(self) -> str | None:
        """Return the key of the smallest candidate that passes on the selection part."""
        passing = [key for key, verdict in self._verdicts.items() if verdict.outcome == PASS]
        return min(passing, key=lambda key: len(self._attempts[key].content), default=None)

    def _sizes(self, key: str) -> tuple[float, float]:
        return float(self._baseline_bytes), float(len(self._attempts[key].content))

    def _held_out(self, key: str, model: Any) -> Predictions:
        """Return a model's predictions on the held-out part."""
        part = self._parts.held_out
        ranked = self._store.held_out(key)
        if ranked is None:
            ranked = self._ranked(model, part)
            self._store.save_held_out(key, ranked)
        return self._as_predictions(ranked, part)

    def _ranked(self, model: Any, part: Dataset) -> RankedClasses:
        options = self._settings.predicting
        made = predictions_of({"model": model}, part, class_names=part.class_names, **options)
        return made["model"].member(0)

    def _as_predictions(self, ranked: Any, part: Dataset) -> Predictions:
        return Predictions(
            part.labels, ranked, class_names=part.class_names, example_ids=part.example_ids
        )

    def _is_over(self) -> bool:
        return self._ends is not None and time.monotonic() >= self._ends


def _room(verdict: Verdict) -> float:
    """Return how far the check closest to its limit, or farthest beyond, is from it, in units of the limit."""
    frame = verdict.labelled_frame()
    worst = frame["high"].where(frame["high"].notna(), frame["value"])
    unit = (frame["limit"] - frame["neutral"]).clip(lower=1e-9)
    room = ((frame["limit"] - worst) / unit).to_numpy(float)
    return float(np.where(np.isnan(room), -np.inf, room).min())


def _class_names(
    model: keras.Model, data: Dataset | Examples, settings: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return names of the model's classes: those of the data, else their numbers; check that the model takes them."""
    names = tuple(data.class_names or ())
    first = data.head(1) if isinstance(data, Dataset) else mapped(lambda values: values[:1], data.x)
    outputs = predict(model, [first], k=2**30, **settings).classes.shape[1]
    return names if len(names) == outputs else tuple(map(str, range(outputs)))


def _training_data(train: Any, examples: Dataset) -> Dataset:
    """Return the training data, with the classes of the data."""
    made = in_memory(read_data(train, "train"), "train", examples.class_names, "train")
    if made.class_names != examples.class_names:
        numbers = tuple(map(str, range(len(made.class_names))))
        if made.class_names != numbers:
            other = next(
                i for i, name in enumerate(made.class_names) if name != examples.class_names[i]
            )
            got = f"class {other} called {made.class_names[other]!r}"
            raise InputError("train", got, f"{examples.class_names[other]!r}, as in the data")
        made = dataclasses.replace(made, class_names=examples.class_names)
    if made.has_images != examples.has_images:
        raise InputError("train", "examples of another type", "the type of the data")
    return made


@contextlib.contextmanager
def _model_file(model: Model) -> Iterator[Path]:
    """Give the path of a model's `.keras` file: its own, or that of a copy."""
    if isinstance(model, str | Path):
        path = Path(model)
        require(
            path.suffix == ".keras",
            "model",
            str(path),
            "a .keras file: a flatbuffer cannot be compressed further",
        )
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "model.keras"
        copy.write_bytes(model_bytes(check_model(model)))
        yield copy


@contextlib.contextmanager
def _directory(out: str | Path | None) -> Iterator[Path]:
    if out is not None:
        yield Path(out)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _untried(control: Candidate) -> str:
    """Return why a candidate is left out as long as its control was not tried."""
    return f"{control.key} was not tried."


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    try:
        with lock(directory / FOLDER, "tfaudit compress"):
            yield
    except OSError as problem:
        got = f"{directory}, which cannot be written ({problem.strerror})"
        raise InputError("out", got, "a directory that can be written") from None
