"""How a member is trained."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from tfaudit.errors import InputError, require, require_one_of
from tfaudit.study.settings import changed_settings, check_least, check_settings, set_fields

_CHOICES = {
    "decay": ("constant", "cosine"),
    "keep": ("last", "best"),
    "precision": ("float32", "mixed_float16", "mixed_bfloat16"),
    "jit_compile": (None, True, False),
    "strategy": (None, "mirrored"),
}
"""Settings that are one of several values."""

MOST_EPOCHS, MOST_STEPS = 1_000_000, 1_000_000_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Training:
    """The training of one member.

    Args:
        epochs: passes over the training set; 0 leaves the model unchanged. Give exactly one of `epochs` and `steps`.
        steps: number of optimizer steps.
        batch_size: examples per step.
        across_epochs: whether batches continue across the ends of epochs, so that none is short and an epoch of N
            examples has N / `batch_size` steps, which need not be whole; by default its last batch is short.
        optimizer: "sgd", "adam" or another name that Keras knows, which takes the learning rates below; or a Keras
            optimizer, or its configuration `keras.optimizers.serialize(...)`, which has learning rates of its own.
        learning_rate: constant, or pairs `(epoch, rate)`, each of which sets the rate from that epoch on.
        decay: "constant", or "cosine" to zero at the last step.
        warmup: epochs over which the rate rises linearly from zero.
        momentum: momentum of "sgd".
        nesterov: whether to use Nesterov momentum.
        weight_decay: coefficient `wd` of the L2 penalty `wd/2 |w|^2` on every kernel (not on biases or BatchNorm), as
            the papers' frameworks define it: its gradient goes through the momentum.
        decay_biases: names of layers whose biases have this penalty, too, such as ("logits",); none by default.
        augmentation: a name of `tfaudit.datasets.augmentation`.
        label_smoothing: share of the probability spread over all classes.
        validation: share of the training set held out for validation, stratified, split by the member's seed.
        keep: epoch whose weights to keep, "last" or "best", the one with the lowest validation loss ([R] 6).
        precision: "float32", "mixed_float16" or "mixed_bfloat16": the Keras policy under which models are built.
        jit_compile: whether to compile train steps with XLA; by default only if there is a GPU.
        steps_per_execution: steps per call of the compiled function; must divide the steps of an epoch. By default up
            to 50 for a small network, where Keras alone takes about half the time; the weights do not depend on it.
        checkpoint_every: seconds between two checkpoints of a training, which goes on from the last one after any
            interruption; None for no checkpoints. Results do not depend on it.
        micro_batch: examples whose activations are held at a time, if a batch is larger than the memory: gradients are
            summed over micro-batches, and the optimizer makes one step per batch (`tfaudit.compress.MicroBatches`).
            None for whole batches; "auto" halves the batch whenever TensorFlow reports too little memory. Batch
            normalisation takes its statistics per micro-batch. With a strategy, it is a part of each device's share of
            the batch.
        strategy: None, or "mirrored": every batch is shared among all GPUs that the member's process sees, or among all
            CPU devices if there are none. Batch normalisation then takes its statistics per device.

    A model that its function compiled keeps its own optimizer, loss and metrics; then the settings of optimizer and
    loss must be at their defaults here.

    Example:
        >>> Training(epochs=3, optimizer="adamw", learning_rate=1e-3, decay="cosine").total_steps(1000)
        24
    """

    epochs: int | None = None
    steps: int | None = None
    batch_size: int = 128
    across_epochs: bool = False
    optimizer: Any = "sgd"
    learning_rate: float | tuple[tuple[float, float], ...] = 0.01
    decay: str = "constant"
    warmup: float = 0.0
    momentum: float = 0.9
    nesterov: bool = True
    weight_decay: float = 0.0
    decay_biases: tuple[str, ...] = ()
    augmentation: str = "none"
    label_smoothing: float = 0.0
    validation: float = 0.0
    keep: str = "last"
    precision: str = "float32"
    jit_compile: bool | None = None
    steps_per_execution: int | None = None
    strategy: str | None = None
    micro_batch: int | str | None = None
    checkpoint_every: float | None = 600.0

    def __post_init__(self) -> None:
        if isinstance(self.learning_rate, list | tuple):
            set_fields(self, learning_rate=_rates(self.learning_rate))
        biases = self.decay_biases
        listed = isinstance(biases, list | tuple)
        require(listed, "decay_biases", biases, "a tuple of names of layers")
        set_fields(self, decay_biases=tuple(biases))
        lengths = (self.epochs, self.steps)
        require(lengths.count(None) == 1, "epochs, steps", lengths, "exactly one")
        set_fields(self, optimizer=_configuration(self.optimizer))
        if isinstance(self.optimizer, dict) and (set_here := self.changed(*RATES)):
            got = f"a configured optimizer and {', '.join(set_here)}"
            raise InputError(
                "optimizer", got, "the name of an optimizer, or these settings in its configuration"
            )
        for name, choices in _CHOICES.items():
            require_one_of(name, getattr(self, name), choices)
        check_least(
            self, epochs=0, steps=1, batch_size=1, steps_per_execution=1, checkpoint_every=0
        )
        check_settings(
            self,
            epochs=(self.epochs is None or self.epochs <= MOST_EPOCHS, f"0 to {MOST_EPOCHS:,}"),
            steps=(self.steps is None or self.steps <= MOST_STEPS, f"1 to {MOST_STEPS:,}"),
            validation=(0 <= self.validation < 1, "a share in [0, 1)"),
            keep=(self.keep == "last" or self.validation > 0, "'best' only with validation > 0"),
        )
        part = self.micro_batch
        if part not in (None, "auto"):
            known = isinstance(part, int) and part >= 1 and self.batch_size % part == 0
            expected = f"a divisor of the batch size {self.batch_size}, 'auto' or None"
            require(known, "micro_batch", part, expected)
        together = self.steps_per_execution
        fits = self.strategy is None or together in (None, 1)  # Keras 3.15 fails
        require(fits, "steps_per_execution", together, "1 with strategy='mirrored'")

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return dataclasses.asdict(self)

    def changed(self, *settings: str) -> list[str]:
        """Return the settings that differ from their defaults."""
        changed = changed_settings(self)
        return [name for name in settings if name in changed]

    def trained_examples(self, examples: int) -> int:
        """Return how many of a set of examples are not held out for validation."""
        return examples - math.ceil(examples * self.validation)

    def total_steps(self, examples: int) -> int:
        """Return the number of optimizer steps of a training on a set of examples, some of them held out.

        The last, short batch of an epoch counts.
        """
        if self.epochs is None:
            return self.steps or 0
        if self.across_epochs:
            return math.ceil(self.epochs * self.trained_examples(examples) / self.batch_size)
        return self.epochs * math.ceil(self.trained_examples(examples) / self.batch_size)


RATES = ("learning_rate", "decay", "warmup", "momentum", "nesterov")
"""Settings that a configured optimizer has itself."""


def _rates(pairs: Sequence[Sequence[float]]) -> tuple[tuple[float, float], ...]:
    """Return pairs (epoch, learning rate) as numbers; raise `InputError` unless epochs rise from 0."""
    rates = tuple((float(epoch), float(rate)) for epoch, rate in pairs)
    starts = [epoch for epoch, _ in rates]
    rising = starts == sorted(set(starts)) and starts[0] == 0
    require(rising, "learning_rate", starts, "epochs that rise from 0")
    return rates


def _configuration(optimizer: Any) -> str | dict[str, Any]:
    """Return the name of an optimizer or its configuration as JSON values."""
    if isinstance(optimizer, str):
        return optimizer
    if isinstance(optimizer, Mapping):
        settings = dict(optimizer)
        expected = "keras.optimizers.serialize(optimizer)"
        require("class_name" in settings, "optimizer", settings, expected)
        return settings
    if not hasattr(optimizer, "get_config") or isinstance(optimizer, type):
        raise InputError(
            "optimizer", repr(optimizer), "a name, such as 'adamw', or a Keras optimizer"
        )
    import keras

    return keras.optimizers.serialize(optimizer)
