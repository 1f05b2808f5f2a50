"""The model that a search compresses: read from its file once, and copied before a change."""

from __future__ import annotations

from pathlib import Path

import keras

from tfaudit.compress.model_files import load_keras
from tfaudit.population.training import copy_variables


class SourceModel:
    """The model in a `.keras` file.

    Attributes:
        path: path of the file.
        model: the model, which is never changed.

    Raises:
        InputError: Keras cannot load the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.model = load_keras(path)

    def copy(self) -> keras.Model:
        """Return a copy of the model; load it from the file if Keras cannot copy it in memory."""
        try:
            copy = keras.models.clone_model(self.model)
        except Exception:  # a subclassed model raises whatever its `get_config` raises
            return load_keras(self.path)
        copy_variables(self.model, copy)
        return copy
