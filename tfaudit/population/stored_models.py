"""The models of members that are in the store, one after another in one traced Keras model."""

from __future__ import annotations

import io
import re
import zipfile

import keras

from tfaudit.store.store import Store
from tfaudit.study.variants import Quantized

__all__ = ["StoredModels"]

_NAME = re.compile(r'("name": |\[(?="[^"]+", \d+, \d+\]))"([^"]+)"')
"""The name of a layer, where it is given and where another layer refers to it."""


class StoredModels:
    """Opens members' models so that only the first one costs a trace.

    Building a model and tracing it takes far longer than reading its weights, and the dense and pruned members of a
    study have one architecture. So each member's weights are put into the model that is there, unless the file
    describes another one.

    Args:
        store: holds the members.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._described = ""
        self._model: keras.Model | None = None

    def open(self, variant: str, member: int) -> keras.Model | bytes:
        """A member's model; a Keras model is good until the next one is opened.

        Args:
            variant: key.
            member: number; it is complete.

        Raises:
            InputError: the file is missing, or not what was written.
        """
        if isinstance(self._store.study.variant(variant), Quantized):
            return self._store.read_checked(variant, member, self._store.member_path(variant, member, "model.tflite"))
        path = self._store.member_path(variant, member, "model.keras")
        described = _description(self._store.read_checked(variant, member, path))
        if self._model is None or described != self._described:
            self._model = keras.saving.load_model(self._store.directory / path, compile=False)
            self._described = described
        else:
            self._model.load_weights(self._store.directory / path)
        return self._model


def _description(content: bytes) -> str:
    """What a `.keras` file says of its layers, whatever they were called and at what addresses objects were.

    Layers without a name of their own are called by a counter, which goes on from member to member. Weights are stored
    in the order of the layers and not by their names.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        text = re.sub(r'"shared_object_id": \d+', "", archive.read("config.json").decode())
    numbers: dict[str, int] = {}
    return _NAME.sub(lambda found: f"{found[1]}{numbers.setdefault(found[2], len(numbers))}", text)
