"""The remedies of a member: callbacks that its retraining receives."""

from collections.abc import Callable, Mapping, Sequence

import keras

from tfaudit.compress.remedies.distillation import Distillation
from tfaudit.compress.remedies.excess_gap import ExcessGap
from tfaudit.datasets.dataset import Dataset
from tfaudit.errors import InputError, listed, require
from tfaudit.study.remedies import CLASS, DistillationRemedy, RemedySettings
from tfaudit.study.study import Study
from tfaudit.study.training import Training


class MemberRemedies:
    """The callbacks of the remedies of one variant, for one member after another; traced functions are reused."""

    def __init__(self, remedies: Sequence[RemedySettings]) -> None:
        self._remedies = tuple(remedies)
        self._distillation: Distillation | None = None
        self._gap: ExcessGap | None = None

    def callbacks(
        self, dense: keras.Model, held_out: Callable[[], Dataset]
    ) -> list[keras.callbacks.Callback]:
        """Return the callbacks for a member, from its dense model and, if needed, its held-out examples."""
        return [self._callback(remedy, dense, held_out) for remedy in self._remedies]

    def _callback(
        self, remedy: RemedySettings, dense: keras.Model, held_out: Callable[[], Dataset]
    ) -> keras.callbacks.Callback:
        if isinstance(remedy, DistillationRemedy):
            if self._distillation is None:
                self._distillation = Distillation(dense, **remedy.settings())
            self._distillation.teacher = dense
            return self._distillation
        if self._gap is None:
            self._gap = ExcessGap(dense, validation=held_out(), **remedy.settings())
        else:
            self._gap.hold_out(dense, held_out())
        return self._gap


def check_remedies(study: Study, remedies: Sequence[RemedySettings], data: Dataset) -> None:
    """Raise an `InputError` if a remedy lacks held-out examples, or the training data its groups."""
    if names := [name for remedy in remedies for name in getattr(remedy, "names", ())]:
        columns = [*data.groups, *(data.inputs if isinstance(data.inputs, Mapping) else ()), CLASS]
        unknown = [name for name in names if name not in columns]
        require(
            not unknown, "groups", listed(unknown), f"columns of {data.name!r}: {listed(columns)}"
        )
    training = study.planned_retraining
    for remedy in remedies:
        if not remedy.holds_out or (isinstance(training, Training) and training.validation):
            continue
        got = "a training function" if not isinstance(training, Training) else "validation=0.0"
        raise InputError(
            "retraining",
            f"{got} with the remedy {remedy.name!r}",
            "a tfaudit.Training with validation > 0",
        )
