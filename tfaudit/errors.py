"""Bad input: one error, one line, one form."""

import os
import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from types import MappingProxyType

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class InputError(ValueError):
    """Bad input, told in one line: `argument: got X, expected Y`, with "?" for characters that would break the line.

    The command line prints it without a traceback and exits with 2, `gate` and `compress` with 4. Every other exception
    is a defect of tfaudit and keeps its traceback.

    Args:
        argument: name of the argument, option, file or column.
        got: what was passed, in words or as its `repr`.
        expected: what is allowed, and perhaps what to do.

    Example:
        >>> raise InputError("images", "20 images", "10, one per label")
        Traceback (most recent call last):
        tfaudit.errors.InputError: images: got 20 images, expected 10, one per label
    """

    def __init__(self, argument: str, got: str, expected: str) -> None:
        super().__init__(argument, got, expected)
        self.argument, self.got, self.expected = argument, got, expected

    def __str__(self) -> str:
        text = f"{self.argument}: got {self.got}, expected {self.expected}"
        return printable(text)


class Notice(UserWarning):
    """A warning about a result for its reader; the command line prints it in one line, without its place."""


EXTRAS: Mapping[str, str] = MappingProxyType(
    {
        "tensorflow": "keras",
        "keras": "keras",
        "tf_keras": "keras",
        "tensorflow_model_optimization": "keras",
        "tensorflow_datasets": "datasets",
        "ai_edge_litert": "keras",
        "sklearn": "keras",
        "statsmodels": "factors",
        "altair": "charts",
        "vl_convert": "charts",
        "streamlit": "viewer",
        "cv2": "corruptions",
        "ray": "ray",
        "pycocotools": "detection",
        "jax": "jax",
        "litert_converter": "jax",
        "litert_quantizer": "quantizer",
    }
)
"""The extra of this package that brings a library, by the library's module."""


class MissingExtraError(InputError, ImportError):
    """Error for a library that is not installed and that an extra of this package brings."""


def missing_extra(error: ImportError, wanted: str) -> MissingExtraError | None:
    """Return the error to raise if a library of an extra is missing; None for any other import error.

    Args:
        error: error of the import.
        wanted: function or command that needs the library, such as "tfaudit run".

    Example:
        >>> print(missing_extra(ModuleNotFoundError(name="keras.layers"), "tfaudit.prune"))
        tfaudit.prune: got no installed keras, expected one: pip install 'tfaudit[keras]'
    """
    module = (error.name or "").partition(".")[0]
    if module not in EXTRAS or isinstance(error, MissingExtraError):
        return None
    return MissingExtraError(
        wanted, f"no installed {module}", f"one: pip install 'tfaudit[{EXTRAS[module]}]'"
    )


def printable(text: str) -> str:
    """Replace characters that would break a line or control a terminal.

    Cells of tables need it before layout, since an escape character has no width.

    Example:
        >>> printable("cat" + chr(27) + "[31m")
        'cat?[31m'
    """
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def require(condition: bool, argument: str, got: object, expected: str) -> None:
    """Raise an `InputError` unless the condition holds.

    Args:
        condition: whether the argument is valid.
        argument: name of the argument.
        got: value of the argument; the error shows its `repr`.
        expected: what is allowed.

    Raises:
        InputError: the condition does not hold.

    Example:
        >>> require(0 <= 2 < 1, "share", 2, "a number in [0, 1)")
        Traceback (most recent call last):
        tfaudit.errors.InputError: share: got 2, expected a number in [0, 1)
    """
    if not condition:
        raise InputError(argument, repr(got), expected)


def require_type(expected: str, *kinds: type, **values: object) -> None:
    """Raise an `InputError` for the first value of none of the types.

    Example:
        >>> require_type("tfaudit.Limits", int, limits={"flips": 1})
        Traceback (most recent call last):
        tfaudit.errors.InputError: limits: got dict, expected tfaudit.Limits
    """
    for name, value in values.items():
        if not isinstance(value, kinds):
            got = "None" if value is None else type(value).__name__
            raise InputError(name, got, expected)


def path_of(argument: str, value: str | os.PathLike[str]) -> Path:
    """Return a path; raise an `InputError` for anything else.

    Example:
        >>> path_of("directory", 3)
        Traceback (most recent call last):
        tfaudit.errors.InputError: directory: got int, expected a path
    """
    require_type("a path", str, os.PathLike, **{argument: value})
    return Path(value)


def number(value: object) -> float:
    """Return a number as it is, and NaN, which lies in no range, for anything else.

    Example:
        >>> 0 < number("2") < 5
        False
    """
    return value if isinstance(value, Real) else float("nan")  # type: ignore[return-value]


def require_least(least: float, **values: float | None) -> None:
    """Raise an `InputError` for the first value below the least one; None is valid.

    Example:
        >>> require_least(1, batches=20, seed=None, batch_size=0)
        Traceback (most recent call last):
        tfaudit.errors.InputError: batch_size: got 0, expected 1 or more
    """
    for name, value in values.items():
        require(value is None or number(value) >= least, name, value, f"{least} or more")


def require_level(argument: str, level: float) -> None:
    """Raise `InputError` unless a level of tests or of intervals lies in (0, 1).

    Example:
        >>> require_level("alpha", 0.05)
    """
    require(0 < number(level) < 1, argument, level, "a level in (0, 1)")


def require_whole(argument: str, value: object, least: int) -> None:
    """Raise an `InputError` unless a value is a whole number of at least `least`.

    Example:
        >>> require_whole("step", True, 0)
        Traceback (most recent call last):
        tfaudit.errors.InputError: step: got True, expected a whole number of 0 or more
    """
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    expected = f"a whole number of {least} or more"
    require(whole and value >= least, argument, value, expected)  # type: ignore[operator]


def require_one_of(argument: str, got: object, choices: Collection[object]) -> None:
    """Raise an `InputError` unless a value is one of several.

    Example:
        >>> require_one_of("scope", "model", ("layer", "global"))
        Traceback (most recent call last):
        tfaudit.errors.InputError: scope: got 'model', expected 'layer' or 'global'
    """
    *others, last = map(repr, choices)
    expected = f"{', '.join(others)} or {last}" if others else last
    require(isinstance(got, Hashable) and got in choices, argument, got, expected)


def listed(names: Sequence[object], most: int = 5) -> str:
    """Return the first names, and how many more there are.

    Example:
        >>> listed("abcdefg"), listed("abc")
        ('a, b, c, d, e and 2 more', 'a, b, c')
        >>> listed(["magnitude 95 %", "magnitude 95 %, distilled"])
        'magnitude 95 %; magnitude 95 %, distilled'
    """
    between = "; " if any("," in str(name) for name in names) else ", "
    return between.join(map(str, names[:most])) + (
        f" and {len(names) - most} more" if len(names) > most else ""
    )


def quoted(names: Iterable[object], most: int = 3) -> str:
    """Return the first names in quotes, long ones cut, and how many more there are.

    Example:
        >>> quoted(["cat", "dog", "elk", "owl"])
        "'cat', 'dog', 'elk' and 1 more"
    """
    texts = [str(name) for name in names]
    return listed([repr(text if len(text) <= 60 else f"{text[:60]}…") for text in texts], most)


def plural(count: int, noun: str) -> str:
    """Return a number with its noun.

    Example:
        >>> plural(1, "member"), plural(1200, "image")
        ('1 member', '1,200 images')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


LONGEST = 500
"""Most characters of a library's message: Keras repeats the whole configuration of a model."""


def one_line(error: BaseException) -> str:
    r"""Return the first line of an exception's message that says something, or its type; at most `LONGEST` characters.

    Example:
        >>> one_line(OSError("no space\nleft")), one_line(KeyboardInterrupt())
        ('no space', 'KeyboardInterrupt')
        >>> one_line(ValueError("Exception encountered when calling Dense.call().\n\n\x1b[1mWrong input.\x1b[0m"))
        'Wrong input.'
        >>> len(one_line(OSError("x" * 10**6)))
        504
    """
    lines = [line.strip() for line in _COLOUR.sub("", str(error)).splitlines() if line.strip()]
    # Keras: the reason follows.
    if len(lines) > 1 and lines[0].startswith("Exception encountered when calling"):
        del lines[0]
    line = lines[0] if lines else type(error).__name__
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} ..."


def bytes_in_words(size: float) -> str:
    """Return a number of bytes with three digits and without an exponent.

    Example:
        >>> bytes_in_words(34_570), bytes_in_words(999_600), bytes_in_words(21_660_000), bytes_in_words(2.5e12)
        ('34.6 kB', '1 MB', '21.7 MB', '2,500 GB')
    """
    for unit, scale in (("kB", 1e3), ("MB", 1e6)):
        if size < 999.5 * scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size / 1e9:.3g} GB" if size < 999.5e9 else f"{size / 1e9:,.0f} GB"
