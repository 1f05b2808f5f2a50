"""Base class of the remedies: a callback that changes the loss of a fit."""

from typing import Any

from tfaudit.compress.keras_model import output_names
from tfaudit.compress.train_function_swap import SecondTrainFunction, TrainingCallback
from tfaudit.errors import InputError
from tfaudit.extensions.remedies.remedied_loss import RemediedLoss, Term
from tfaudit.runtime.backends import strategy_scope


class Remedy(Term, TrainingCallback):
    """Base class of callbacks that change the loss of `model.fit`. One instance serves several fits in sequence.

    It adds no layers to the model, which is saved as an ordinary `.keras` file. Several remedies in one fit, and
    callbacks that hold masks, work together in any order.
    """

    def __init__(self) -> None:
        super().__init__()
        self._loss: RemediedLoss | None = None
        self._strategy: Any = None  # strategy of the latest fit

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Put the remedy in place."""
        self._detach()
        self._require_optimizer("model.compile(optimizer, loss) first")
        if len(names := output_names(self.model)) > 1:
            raise InputError(
                "model", f"{self.model.name!r} with outputs {', '.join(names)}", "one output"
            )
        model, optimizer = self.model, self.model.optimizer
        # An error during the tracing of a step would leave it half-built.
        if model.built and not optimizer.built:
            with strategy_scope(model):
                optimizer.build(model.trainable_variables)
        strategy = getattr(model, "distribute_strategy", None)
        retrace = self._begin(strategy is not self._strategy)
        self._strategy = strategy
        if self._train_function is None or retrace or not self._train_function.fits(model):
            self._train_function = SecondTrainFunction(model, self)
            self.used = False
        self._loss = RemediedLoss.of(model)
        self._loss.add(self)
        self._train_function.swap_in()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Take the remedy off, so that the model is an ordinary one again."""
        self._detach()
        if not self.used:
            got = f"{type(self).__name__} in a training loop that does not use it"
            expected = "model.fit, or model.train_on_batch between on_train_begin and on_train_end"
            raise InputError("callbacks", got, expected)

    def _begin(self, moved: bool) -> bool:
        """Prepare a fit of `self.model`, and return whether an earlier traced train function is outdated.

        `moved` says whether the distribution strategy differs from that of the last fit.
        """
        raise NotImplementedError

    def _detach(self) -> None:
        if self._loss is not None:
            self._loss.remove(self)
            self._loss = None
        super()._detach()
