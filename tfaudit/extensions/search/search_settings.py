"""Settings of a search, apart from the model and the data."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from tfaudit.audits.gate.limits import DEFAULT_LIMITS, MORE_THAN_PREDICTIONS, Limits
from tfaudit.errors import require, require_level, require_one_of
from tfaudit.study.quantization import KERNELS
from tfaudit.study.training import Training

if TYPE_CHECKING:
    from tfaudit.compress.keras_model import KerasForward
    from tfaudit.compress.litert.flatbuffer import Flatbuffer
    from tfaudit.stats.ranking import RankedClasses

FINE_TUNING = Training(
    epochs=3, batch_size=128, optimizer="adam", learning_rate=5e-4, decay="cosine"
)
"""How pruned models are fine-tuned by default."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """Settings of a search, which `compress_to_limits` takes by name.

    Attributes:
        limits: limits that the gate checks.
        training: how pruned models are fine-tuned; `recalibrate_batch_norm` then estimates their statistics again.
        held_out: share of the examples that is held out from the choice, half by default.
        seed: seed of the split, of the calibration images and of the training.
        alpha: level of the gate's tests.
        batch_size: examples per step of the predictions.
        output: name of the output to use if the model has several.
        scores_are: "probabilities" or "logits"; "auto" finds out, as in `tfaudit.predict`.
        kernels: what runs the files, as in `tfaudit.predict`.
        full_integer: whether to make only int8 files with int8 inputs and outputs, `quantize(..., io="int8")`, and no
            layers in float.
        per_tensor: whether to try int8 with one scale per kernel, too, as hardware without scales per channel computes
            it, `quantize(..., per_channel=False)`.
    """

    limits: Limits = DEFAULT_LIMITS
    training: Training = FINE_TUNING
    held_out: float = 0.5
    seed: int = 0
    alpha: float = 0.05
    output: str | None = None
    scores_are: str = "auto"
    batch_size: int = 32
    kernels: str = "default"
    full_integer: bool = False
    per_tensor: bool = False

    def __post_init__(self) -> None:
        require_level("alpha", self.alpha)
        require_one_of("kernels", self.kernels, KERNELS)
        for name, kind, expected in (
            ("limits", Limits, "tfaudit.Limits"),
            ("training", Training, "a tfaudit.Training"),
        ):
            value = getattr(self, name)
            require(isinstance(value, kind), name, type(value).__name__, expected)
        for name in MORE_THAN_PREDICTIONS:
            limit = None if name == "group_drop_pp" else getattr(self.limits, name)
            expected = "None: a search has no corrupted images, slices or errors; `tfaudit gate` judges by it"
            require(limit is None, name, limit, expected)

    def file(self, content: bytes, kernels: str | None = None) -> Flatbuffer:
        """Return the inference of a file, by default with the kernels of the search."""
        from tfaudit.compress.litert.flatbuffer import Flatbuffer
        from tfaudit.population.machine import available_cores

        return Flatbuffer(
            content,
            threads=available_cores(),
            output=self.output,
            kernels=kernels or self.kernels,
        )

    def ranked(self, forward: KerasForward | Flatbuffer, inputs: Any, k: int = 5) -> RankedClasses:
        """Predict the k best classes with the inference of a model or file, as `tfaudit.predict` does.

        The range of inputs is not checked: int8 is calibrated with examples of the same data, or with training data
        whose range was compared already.
        """
        from tfaudit.compress.litert.inference import predict_with

        return predict_with(
            forward,
            inputs,
            k=k,
            scores_are=self.scores_are,
            batch_size=self.batch_size,
            check_range=False,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the settings that the results depend on as JSON values."""
        return {
            "limits": self.limits.settings(),
            "settings": {
                "output": self.output,
                "scores_are": self.scores_are,
                "kernels": self.kernels,
                "full_integer": self.full_integer,
                "per_tensor": self.per_tensor,
                "alpha": self.alpha,
                "training": self.training.to_json(),
            },
            "split": {"held_out": self.held_out, "seed": self.seed},
        }
