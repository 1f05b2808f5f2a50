"""Where the model of a study comes from."""

import dataclasses

from tfaudit.runtime.user_functions import is_reference


@dataclasses.dataclass(frozen=True)
class ModelSource:
    """What the text of a study's `model` stands for, decided once.

    Attributes:
        text: name of `tfaudit.models`, path of a `.keras` file, or reference of a function of the user's.
        is_file: whether it is a file.
        is_function: whether it is a function.

    Example:
        >>> ModelSource.of("net.keras").is_file, ModelSource.of("nets.py:build").is_function
        (True, True)
    """

    text: str
    is_file: bool
    is_function: bool

    @classmethod
    def of(cls, text: str) -> "ModelSource":
        """Return what a text stands for."""
        return cls(text, text.endswith(".keras"), is_reference(text))
