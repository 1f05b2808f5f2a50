"""The source of a study's model: a name, a file or a function."""

import dataclasses

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
