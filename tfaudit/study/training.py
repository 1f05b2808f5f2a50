"""How a member is trained."""

import dataclasses
import math

from tfaudit.errors import require


@dataclasses.dataclass(frozen=True, kw_only=True)
class Training:
    """The training of one member.

    Args:
        epochs: passes over the training set; 0 leaves the model unchanged. Exactly one of `epochs` and `steps`.
        steps: optimizer steps.
        batch_size: examples per step.
        optimizer: "sgd" or "adam".
        learning_rate: constant, or pairs `(epoch, rate)`, each of which sets the rate from that epoch on.
        decay: "constant", or "cosine" to zero at the last step.
        warmup: epochs over which the rate rises linearly from zero.
        momentum: of "sgd".
        nesterov: whether to use Nesterov momentum.
        weight_decay: coefficient `wd` of the L2 penalty `wd/2 |w|^2` on every kernel (not on biases or BatchNorm), as
            the papers' frameworks define it: its gradient goes through the momentum.
        augmentation: a name of `tfaudit.datasets.augmentation`.
        label_smoothing: share of the probability spread over all classes.
        validation: share of the training set held out for validation, stratified, split by the member's seed.
        keep: weights to keep, those of the "last" epoch or of the "best" one, with the lowest validation loss ([R] 6).
    """

    epochs: int | None = None
    steps: int | None = None
    batch_size: int = 128
    optimizer: str = "sgd"
    learning_rate: float | tuple[tuple[float, float], ...] = 0.01
    decay: str = "constant"
    warmup: float = 0.0
    momentum: float = 0.9
    nesterov: bool = True
    weight_decay: float = 0.0
    augmentation: str = "none"
    label_smoothing: float = 0.0
    validation: float = 0.0
    keep: str = "last"

    def __post_init__(self) -> None:
        if isinstance(self.learning_rate, list | tuple):
            object.__setattr__(self, "learning_rate", tuple((float(e), float(r)) for e, r in self.learning_rate))
            starts = [epoch for epoch, _ in self.learning_rate]
            rising = starts == sorted(set(starts)) and starts[0] == 0
            require(rising, "learning_rate", starts, "epochs that rise from 0")
        lengths = (self.epochs, self.steps)
        require(lengths.count(None) == 1, "epochs, steps", lengths, "exactly one")
        require(self.epochs is None or self.epochs >= 0, "epochs", self.epochs, "1 or more, or 0: no training")
        require(self.steps is None or self.steps >= 1, "steps", self.steps, "1 or more")
        require(self.batch_size >= 1, "batch_size", self.batch_size, "1 or more")
        require(self.optimizer in ("sgd", "adam"), "optimizer", self.optimizer, "'sgd' or 'adam'")
        require(self.decay in ("constant", "cosine"), "decay", self.decay, "'constant' or 'cosine'")
        require(self.keep in ("last", "best"), "keep", self.keep, "'last' or 'best'")
        require(0 <= self.validation < 1, "validation", self.validation, "a share in [0, 1)")
        require(self.keep == "last" or self.validation > 0, "keep", self.keep, "'best' only with validation > 0")

    def total_steps(self, examples: int) -> int:
        """Return the number of optimizer steps over `examples` examples; an epoch's last, short batch counts."""
        if self.epochs is None:
            return self.steps or 0
        return self.epochs * math.ceil(examples / self.batch_size)
