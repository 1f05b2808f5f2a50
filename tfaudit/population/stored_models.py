"""Models of stored members, opened one after another in one Keras model."""

import io
import re
import zipfile

import keras

from tfaudit.compress.model_files import load_keras
from tfaudit.datasets.dataset import Dataset
from tfaudit.models.member_model import build_member, strip_compilation
from tfaudit.store.store import Store
from tfaudit.study.variants import Quantized

_NAME = re.compile(r'("name": |\[(?="[^"]+", \d+, \d+\]))"([^"]+)"')
"""The name of a layer, in its definition and in references of other layers."""


class StoredModels:
    """Opens members' models so that only the first one is built; `data` as in `load_member`.

    Building a model takes far longer than reading its weights, and the dense and pruned members of a study have one
    architecture. So each member's weights are loaded into the same model, unless the file describes another
    architecture.
    """

    def __init__(self, store: Store, data: Dataset | None = None) -> None:
        self._store, self._data = store, data
        self._description = ""
        self._model: keras.Model | None = None

    def open(self, variant: str, member: int) -> keras.Model | bytes:
        """Return a member's model, valid until the next call; a missing or damaged file raises `InputError`."""
        quantized = isinstance(self._store.study.variant(variant), Quantized)
        file = "model.tflite" if quantized else "model.keras"
        path = self._store.member_path(variant, member, file)
        content = self._store.read_checked(variant, member, path)
        if quantized:
            return content
        description = _description(content)
        if self._model is None or description != self._description:
            self._model = load_member(self._store, variant, member, self._data)
            self._description = description
        else:
            self._model.load_weights(self._store.directory / path)
        return self._model


def load_member(store: Store, variant: str, member: int, data: Dataset | None) -> keras.Model:
    """Return the model of a dense or pruned member, not compiled; a missing or damaged file raises `InputError`.

    If the study's model is a user's function, the function builds it, since the file may hold layers that Keras cannot
    find. Then `data`, a split of the study's data set, is needed.
    """
    path = store.member_path(variant, member, "model.keras")
    store.read_checked(variant, member, path)
    if data is None or not store.study.model_source.is_function:
        return load_keras(store.directory / path)
    model = strip_compilation(build_member(store.study, data, 0))
    model.load_weights(store.directory / path)
    return model


def _description(content: bytes) -> str:
    """Return the architecture in a `.keras` file, independent of layer names and object addresses.

    Keras numbers layers without an explicit name, and continues to count from member to member. Weights are stored in
    the order of the layers, not by name.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        text = re.sub(r'"shared_object_id": \d+', "", archive.read("config.json").decode())
    numbers: dict[str, int] = {}
    return _NAME.sub(lambda match: f"{match[1]}{numbers.setdefault(match[2], len(numbers))}", text)
