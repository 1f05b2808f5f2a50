"""Base of the remedies: a callback that changes the loss of a fit."""

from typing import Any

import keras
import tensorflow as tf

from tfaudit.compress.keras_model import output_names, require_instance
from tfaudit.compress.remedies.remedied_loss import Batch, RemediedLoss
from tfaudit.compress.second_train_function import SecondTrainFunction
from tfaudit.errors import InputError


class Remedy(keras.callbacks.Callback):
    """Base of the callbacks that change the loss of `model.fit`. One instance serves several fits, one after another.

    It adds no layers to the model, which is saved as an ordinary `.keras` file. Several remedies of one fit, and
    callbacks that hold masks, work together in any order.
    """

    columns: tuple[str, ...] = ()

    def __init__(self) -> None:
        super().__init__()
        self.used = False  # whether a training step has asked for it
        self._train_function: SecondTrainFunction | None = None
        self._loss: RemediedLoss | None = None

    def set_model(self, model: Any = None) -> None:
        """Take the model of a fit; a class instead of an instance, or a Keras 2 model, is refused."""
        require_instance(self, model)
        super().set_model(model)

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Put the remedy in place."""
        self._detach()
        if getattr(self.model, "optimizer", None) is None:
            raise InputError(
                "model", "a model without an optimizer", "model.compile(optimizer, loss) first"
            )
        if len(names := output_names(self.model)) > 1:
            raise InputError(
                "model", f"{self.model.name!r} with outputs {', '.join(names)}", "one output"
            )
        model, optimizer = self.model, self.model.optimizer
        # An error while a step is traced would leave it half-built.
        if model.built and not optimizer.built:
            with model.distribute_strategy.scope():
                optimizer.build(model.trainable_variables)
        retrace = self._begin()
        train_function = self._train_function
        if train_function is None or retrace or not train_function.fits(self.model):
            train_function = SecondTrainFunction(self.model, self._detach)
            self.used = False
        self._train_function, self._loss = train_function, RemediedLoss.of(self.model)
        self._loss.add(self)
        train_function.swap_in()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Take the remedy off; the model is an ordinary one again."""
        self._detach()
        if not self.used:
            got = f"{type(self).__name__} in a training loop that does not use it"
            raise InputError(
                "callbacks",
                got,
                "model.fit, or model.train_on_batch between on_train_begin and on_train_end",
            )

    def example_weights(self, batch: Batch) -> tf.Tensor | None:
        """Return the factors of the examples' losses; by default None."""
        return None

    def penalty(self, batch: Batch, weights: tf.Tensor | None) -> tf.Tensor | None:
        """Return a term of the loss; by default None."""
        return None

    def _begin(self) -> bool:
        """Prepare a fit of `self.model`; return whether an earlier traced train function is outdated."""
        raise NotImplementedError

    def _detach(self) -> None:
        if self._loss is not None:
            self._loss.remove(self)
            self._loss = None
        if self._train_function is not None:
            self._train_function.swap_out()
