"""The model that a search compresses: read from its file once, and copied where a copy changes."""

from __future__ import annotations

import functools
from pathlib import Path

import keras

from tfaudit.compress.model_files import load_keras
from tfaudit.population.training import copy_variables


class SourceModel:
    """The model in a `.keras` file.

    Attributes:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @functools.cached_property
    def model(self) -> keras.Model:
        """The model, which nobody changes; raises an `InputError` if Keras cannot load the file."""
        return load_keras(self.path)

    def copy(self) -> keras.Model:
        """Return a copy, from the file only where Keras cannot copy the model in memory."""
        try:
            copy = keras.models.clone_model(self.model)
        except Exception:  # a subclassed model raises whatever its `get_config` raises
            return load_keras(self.path)
        copy_variables(self.model, copy)
        return copy
