"""The source of a study's model: a name, a file or a function."""

import dataclasses
from pathlib import Path

from tfaudit.runtime.user_functions import is_reference


@dataclasses.dataclass(frozen=True)
class ModelSource:
    """The source that the text of a study's `model` names.

    Attributes:
        text: name of a model in `tfaudit.models`, path of a `.keras` file, or reference of a user's function.
        is_file: whether the text is the path of a file.
        is_function: whether the text is the reference of a function.

    Example:
        >>> ModelSource.of("net.keras").is_file, ModelSource.of("nets.py:build").is_function
        (True, True)
    """

    text: str
    is_file: bool
    is_function: bool

    @classmethod
    def of(cls, text: str) -> "ModelSource":
        """Return the source that a text names."""
        return cls(text, text.endswith(".keras"), is_reference(text))


def is_saved_model(path: Path) -> bool:
    """Return whether a path is the folder of a TensorFlow SavedModel."""
    return (path / "saved_model.pb").is_file()


def conversion(path: str | Path, expected: str) -> str:
    """Return what is expected instead of a path, with the Python code that makes it of a model in another format.

    Args:
        path: path of a model, which need not exist.
        expected: what is expected, such as "a .keras file".

    Example:
        >>> conversion("net.h5", "a .keras file")
        'a .keras file: keras.models.load_model("net.h5").save("net.keras")'
        >>> conversion("net.onnx", "a .keras file")
        'a .keras file'
    """
    name = str(path)
    if name.endswith(".weights.h5"):
        keras_file = name.removesuffix(".weights.h5") + ".keras"
        return (
            f'{expected}: build the model, model.load_weights("{name}"); model.save("{keras_file}")'
        )
    stem, dot, suffix = name.rpartition(".")
    if dot and suffix.lower() in ("h5", "hdf5"):
        return f'{expected}: keras.models.load_model("{name}").save("{stem}.keras")'
    folder = Path(path).parent if Path(path).name == "saved_model.pb" else Path(path)
    if not is_saved_model(folder):
        return expected
    if "tflite" not in expected:
        return f'{expected}: model.save("{folder}.keras"), where the code of the model is'
    converter = f'tf.lite.TFLiteConverter.from_saved_model("{folder}")'
    return f'{expected}: pathlib.Path("{folder}.tflite").write_bytes({converter}.convert())'
