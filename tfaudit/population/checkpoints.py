"""Checkpoints of a training: after an interruption at any moment it goes on with the same bits.

A checkpoint holds everything that later steps depend on: weights, statistics and random states of the model, state of
the optimizer and of metrics, state of the callbacks (masks, multipliers, the best epoch), the history, and the number
of steps, from which the position in the data follows.

Keras can begin a fit at an epoch, but not within one. A continued fit therefore begins at the epoch of the checkpoint,
passes over the steps that were made, and takes up the whole state just before the first step that was not. The last
step that was made is made once more, since Keras builds metrics in the first step of a process.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import io
import json
import time
import warnings
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tfaudit.errors import Notice, one_line
from tfaudit.runtime.keras_internals import step_counter
from tfaudit.runtime.regular_files import read_regular
from tfaudit.runtime.seals import seal_of_json, sealed, unsealed
from tfaudit.store.files import write_whole
from tfaudit.study.study import Study

_FACTS, _FORK = "facts", "fork/"
_LIBRARIES = ("tfaudit", "keras", "tensorflow")


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """State of a training between two steps.

    Attributes:
        step: number of optimizer steps made.
        rows: history of the epochs that have ended.
        arrays: values of all variables and of the callbacks, by name.
    """

    step: int
    rows: list[dict[str, float]]
    arrays: dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class CheckpointFile:
    """The file with a member's last checkpoint.

    Args:
        path: path of the file.
        identity: text that identifies the training; a checkpoint with another one is not used.
        report: called with the number of steps made and whether they were just saved: after every checkpoint, and when
            a training goes on from one; nothing by default.
    """

    path: Path
    identity: str
    report: Callable[[int, bool], None] = lambda step, saved: None

    @classmethod
    def of_member(
        cls,
        path: Path,
        study: Study,
        key: str,
        member: int,
        report: Callable[[int, bool], None] = lambda step, saved: None,
    ) -> CheckpointFile:
        """Return the file of a member of a study; its files may lie elsewhere on another machine."""
        sources = sorted([Path(source).name, seal] for source, seal in study.fingerprints.items())
        versions = [importlib.metadata.version(name) for name in _LIBRARIES]
        forks = study.forked if key == "dense" else ()  # the states that a dense training leaves
        seals = [study.member_seals[made] for made in (key, *(variant.key for variant in forks))]
        return cls(path, seal_of_json([seals, sources, member, versions]), report)

    def load(self) -> Checkpoint | None:
        """Return the checkpoint; None if there is none, or with a warning if it is damaged or of another training."""
        try:
            content = read_regular(self.path)
        except OSError:
            return None
        try:
            with np.load(io.BytesIO(unsealed(content)), allow_pickle=False) as file:
                arrays = dict(file)
            facts = json.loads(bytes(arrays.pop(_FACTS)))
            if facts["identity"] != self.identity:
                raise ValueError(
                    "it belongs to another study, or to other versions of the libraries"
                )
            return Checkpoint(facts["step"], facts["rows"], arrays)
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as problem:
            reason = one_line(problem)
            text = f"checkpoint: {self.path} is not used ({reason}); training begins again"
            warnings.warn(Notice(text), stacklevel=2)
            return None

    def save(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint in place of the last one; a full disk leaves the last one, with a warning."""
        try:
            write_whole(self.path, self.content(checkpoint))
        except OSError as problem:
            text = f"checkpoint: {self.path} cannot be written ({problem.strerror})"
            warnings.warn(Notice(text), stacklevel=2)
        else:
            self.report(checkpoint.step, True)

    def content(self, checkpoint: Checkpoint) -> bytes:
        """Return the content of the file with a checkpoint."""
        facts = {"identity": self.identity, "step": checkpoint.step, "rows": checkpoint.rows}
        buffer = io.BytesIO()
        as_bytes = np.frombuffer(json.dumps(facts).encode(), np.uint8)
        np.savez(buffer, **{_FACTS: as_bytes}, **checkpoint.arrays)  # type: ignore[arg-type]
        return sealed(buffer.getvalue())

    def remove(self) -> None:
        """Delete the file, if there is one."""
        self.path.unlink(missing_ok=True)


class Checkpoints(keras.callbacks.Callback):
    """Callback that saves checkpoints of a fit, and continues one from its last checkpoint; the last of its callbacks.

    A callback with a state of its own has two methods: `training_state()` returns arrays by name, and
    `restore_training(arrays)` takes them back. That of Keras' `EarlyStopping` is known. A callback that acts on
    forked trainings may have a third method, `begin_late(step)`, which sets the state after that many steps without it.

    Args:
        file: file of the checkpoint; None to save and to continue nothing.
        every: seconds between two checkpoints.
        steps_per_epoch: number of steps of an epoch.
        others: the other callbacks of the fit, in their order.
        fork: state of a training without these callbacks, with which this one begins if it has no checkpoint of its
            own; none by default.
        fork_steps: numbers of steps after which other trainings continue this one; none by default.

    Attributes:
        start: number of the step whose batch comes first; 0 in a new training.
        rows: history, one row per epoch that has ended.
        forked: contents of files with the checkpoints after `fork_steps`, by step.
    """

    def __init__(
        self,
        file: CheckpointFile | None,
        every: float | None,
        steps_per_epoch: int,
        others: Sequence[keras.callbacks.Callback],
        *,
        fork: Checkpoint | None = None,
        fork_steps: Collection[int] = (),
    ) -> None:
        super().__init__()
        self._file = None if every is None else file
        self._pack = file.content if file else None
        self._fork_steps = fork_steps
        self._every = every or 0.0
        self._steps_per_epoch = steps_per_epoch
        self._others = others
        own = self._file.load() if self._file else None
        arrays = own.arrays if own else {}
        names = [name for name in arrays if name.startswith(_FORK)]
        self.forked = {int(name.removeprefix(_FORK)): arrays.pop(name).tobytes() for name in names}
        self._is_fork = own is None
        self._found = own or fork
        self._begin = self._found.step if self._found else 0
        self.start = self._begin
        self.rows = list(self._found.rows) if self._found else []
        self._saved = time.monotonic()
        self._own: Any = None

    @property
    def first_epoch(self) -> int:
        """Number of the epoch in which this fit begins."""
        return self._begin // self._steps_per_epoch

    def prepare(self, model: keras.Model) -> None:
        """Give a model and its optimizer their values, before callbacks look at them."""
        if self._found is not None:
            if self._begin % self._steps_per_epoch:
                self.start -= model.steps_per_execution
            if self._is_fork:
                step_counter(model.optimizer).assign(self.first_epoch * self._steps_per_epoch)
                return
            for name, variable in _variables(model):
                if not name.startswith("metrics/"):
                    variable.assign(self._found.arrays[name])

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        """Pass over the steps that have been made; then take up the state of the checkpoint."""
        self._done = epoch * self._steps_per_epoch
        if self._found is not None:
            self._left = (self._begin - self._done) // self.model.steps_per_execution
            self._own, self.model.train_function = self.model.train_function, self._step
        else:
            self._save_if_due()

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        """Save a checkpoint if it is due; at the end of an epoch after validation."""
        self._done += self.model.steps_per_execution
        within = self._done % self._steps_per_epoch != 0
        if self._found is None and within:
            self._save_if_due()

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        """Note the history."""
        self.rows.append(dict(logs or {}))

    def detach(self) -> None:
        """Give the model its train function back after a fit that was interrupted."""
        if self._own is not None:
            self.model.train_function = self._own
            self._own = None

    def _step(self, iterator: Iterator[Any]) -> Any:
        """Take the place of the train function until the first step that has not been made."""
        if self._left:
            self._left -= 1
            return {} if self._left else self._own(iterator)
        self.detach()
        assert self._found is not None
        restore_variables(self.model, self._found.arrays)
        if self._is_fork:
            for callback in self._others:
                if hasattr(callback, "begin_late"):
                    callback.begin_late(self._begin)
        else:
            restore_callbacks(self._others, self._found.arrays)
        if self._file is not None and not self._is_fork:
            self._file.report(self._begin, False)
        self._found = None
        return self.model.train_function(iterator)

    def _save_if_due(self) -> None:
        if self._pack and self._done in self._fork_steps:
            self.forked[self._done] = self._pack(self._state())
        if self._file is None or time.monotonic() - self._saved < self._every:
            return
        state = self._state()
        state.arrays.update(callback_arrays(self._others))
        for step, content in self.forked.items():
            state.arrays[f"{_FORK}{step}"] = np.frombuffer(content, np.uint8)
        self._file.save(state)
        self._saved = time.monotonic()

    def _state(self) -> Checkpoint:
        """Return the state of the training without that of the other callbacks."""
        return Checkpoint(self._done, numeric(self.rows), variable_arrays(self.model))


_EARLY_STOPPING = ("best", "best_epoch", "best_weights", "stopped_epoch", "wait")
"""Attributes of `EarlyStopping`, None, numbers or lists of arrays, on which later steps depend."""


def variable_arrays(model: keras.Model) -> dict[str, np.ndarray]:
    """Return the values of all variables of a compiled model, its optimizer and its metrics, by name."""
    return {name: variable.numpy() for name, variable in _variables(model)}


def restore_variables(model: keras.Model, arrays: Mapping[str, np.ndarray]) -> None:
    """Give the variables of a model the values of `variable_arrays`."""
    for name, variable in _variables(model):
        variable.assign(arrays[name])


def _has_state(callback: keras.callbacks.Callback) -> bool:
    return hasattr(callback, "training_state") or isinstance(
        callback, keras.callbacks.EarlyStopping
    )


def callback_arrays(callbacks: Sequence[keras.callbacks.Callback]) -> dict[str, np.ndarray]:
    """Return the known states of callbacks by name."""
    return {
        f"callbacks/{number}/{name}": np.asarray(values)
        for number, callback in enumerate(filter(_has_state, callbacks))
        for name, values in _state_of(callback).items()
    }


def restore_callbacks(
    callbacks: Sequence[keras.callbacks.Callback], arrays: Mapping[str, np.ndarray]
) -> None:
    """Give callbacks the states of `callback_arrays`."""
    for number, callback in enumerate(filter(_has_state, callbacks)):
        prefix = f"callbacks/{number}/"
        state = {
            name.removeprefix(prefix): values
            for name, values in arrays.items()
            if name.startswith(prefix)
        }
        if hasattr(callback, "restore_training"):
            callback.restore_training(state)
            continue
        for name in _EARLY_STOPPING:
            parts = [values for key, values in state.items() if key.startswith(f"{name}/")]
            setattr(callback, name, state[name].item() if name in state else parts or None)


def _state_of(callback: Any) -> dict[str, Any]:
    if hasattr(callback, "training_state"):
        return dict(callback.training_state())
    state: dict[str, Any] = {}
    for name in _EARLY_STOPPING:
        value = getattr(callback, name)
        if isinstance(value, list):
            state |= {f"{name}/{number}": part for number, part in enumerate(value)}
        elif value is not None:
            state[name] = value
    return state


def numeric(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    """Return the rows of a history as numbers of Python."""
    return [{name: float(value) for name, value in row.items()} for row in rows]


def _variables(model: keras.Model) -> list[tuple[str, Any]]:
    """Return all variables of a compiled model by name: its own, those of its optimizer and those of its metrics."""
    parts = {
        "model": model.variables,
        "optimizer": model.optimizer.variables,
        "metrics": model.metrics_variables,
    }
    return [
        (f"{part}/{number}", variable)
        for part, variables in parts.items()
        for number, variable in enumerate(variables)
    ]
