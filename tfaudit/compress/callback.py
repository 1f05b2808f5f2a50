"""Base class of the callbacks of this package."""

from typing import Any

import keras

from tfaudit.compress.keras_model import require_keras_model
from tfaudit.errors import InputError


class ModelCallback(keras.callbacks.Callback):
    """Callback for `fit` of a Keras 3 model."""

    def set_model(self, model: Any = None) -> None:
        """Set the model of a fit; refuse a Keras 2 model, and a call on the class instead of an instance.

        Keras calls `callback.set_model(model)`; on a class, the model takes the place of the callback.
        """
        if not isinstance(self, keras.callbacks.Callback):
            raise InputError(
                "callbacks", "the class of a callback", "an instance, such as tfaudit.Pruning(0.9)"
            )
        if not isinstance(model, keras.Model):
            require_keras_model(model)
        super().set_model(model)
