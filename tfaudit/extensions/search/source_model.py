"""A model of a search: opened and checked once, and copied before a change."""

from __future__ import annotations

from pathlib import Path

import keras

from tfaudit.compress.keras_model import KerasForward, check_model
from tfaudit.compress.litert.quantize import check_layers
from tfaudit.compress.model_files import load_keras, require_keras_file
from tfaudit.population.training import copy_variables


class SourceModel:
    """The model in a `.keras` file.

    Attributes:
        path: path of the file.
        name: name of the model.
        is_kept: whether the file stays after the search.
        model: the model, which is never changed.
        forward: inference of its output.

    Args:
        path: path of the file.
        output: name of the output if the model has several.
        name: name of the model in memory that was saved for the search; by default the file is the user's.

    Raises:
        InputError: Keras cannot load the file, no file can be made of its layers, or it has no such output.
    """

    def __init__(self, path: Path, output: str | None = None, name: str = "") -> None:
        self.path = path
        self.name = name or path.stem
        self.is_kept = not name
        self.model = load_keras(path)
        check_layers(self.model, "float32")
        self.forward = KerasForward(self.model, output)

    @classmethod
    def of(cls, model: keras.Model | str | Path, output: str | None, folder: Path) -> SourceModel:
        """Return the model in a file, or a model in memory, which is saved in a folder."""
        if isinstance(model, str | Path):
            require_keras_file(Path(model))
            return cls(Path(model), output)
        path = folder / "model.keras"
        check_model(model).save(path)
        return cls(path, output, model.name)

    def copy(self) -> keras.Model:
        """Return a copy of the model; load it from the file if Keras cannot copy it in memory."""
        try:
            copy = keras.models.clone_model(self.model)
        except Exception:  # a subclassed model raises whatever its `get_config` raises
            return load_keras(self.path)
        copy_variables(self.model, copy)
        return copy
