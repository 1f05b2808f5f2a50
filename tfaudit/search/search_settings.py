"""What a search is asked for, beside the model and the data."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from tfaudit.audits.gate.limits import DEFAULT_LIMITS, Limits
from tfaudit.errors import require
from tfaudit.study.training import Training

FINE_TUNING = Training(
    epochs=3, batch_size=128, optimizer="adam", learning_rate=5e-4, decay="cosine"
)
"""How pruned models are fine-tuned by default."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """Settings of a search; see `compress_to_limits`.

    Attributes:
        limits: of the gate.
        training: how models are fine-tuned.
        held_out: share of the examples that is held out.
        seed: of the split, of the calibration images and of the training.
        alpha: level of the gate's tests.
        output: name of the output of a model with several.
        scores_are: as in `tfaudit.predict`.
        batch_size: examples per step of the predictions.
    """

    limits: Limits = DEFAULT_LIMITS
    training: Training = FINE_TUNING
    held_out: float = 0.5
    seed: int = 0
    alpha: float = 0.05
    output: str | None = None
    scores_are: str = "auto"
    batch_size: int = 32

    def __post_init__(self) -> None:
        require(0 < self.alpha < 1, "alpha", self.alpha, "a level in (0, 1)")
        require(
            isinstance(self.limits, Limits), "limits", type(self.limits).__name__, "tfaudit.Limits"
        )
        require(
            isinstance(self.training, Training),
            "training",
            type(self.training).__name__,
            "a tfaudit.Training",
        )

    @property
    def reading(self) -> dict[str, Any]:
        """How the scores of the model are read: `output` and `scores_are`."""
        return {"output": self.output, "scores_are": self.scores_are}

    @property
    def predicting(self) -> dict[str, Any]:
        """Options of `predict` and `predictions_of`.

        The range of inputs is not checked: int8 is calibrated with examples of the same data, or of training data whose
        range was compared with theirs.
        """
        return {
            **self.reading,
            "batch_size": self.batch_size,
            "threads": os.cpu_count() or 1,
            "check_range": False,
        }

    def to_json(self) -> dict[str, Any]:
        """Return what the results depend on as JSON values."""
        return {
            "limits": self.limits.as_dict()
            | {"min_baseline_accuracy": self.limits.min_baseline_accuracy},
            "settings": self.reading | {"alpha": self.alpha, "training": self.training.to_json()},
            "split": {"held_out": self.held_out, "seed": self.seed},
        }
