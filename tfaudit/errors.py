"""The one error that means: what you gave cannot be used."""

__all__ = ["InputError"]


class InputError(ValueError):
    """Bad input: one line that names the argument, what came and what is allowed.

    The command line prints it without a traceback and exits with 2; every other exception is a defect of tfaudit
    and keeps its traceback.
    """
