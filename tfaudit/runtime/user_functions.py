"""Functions of the user: recorded by reference and the checksum of their source, imported where they are needed.

A reference is `"package.module:name"` or `"file.py:name"`. Worker processes import it themselves: nothing is pickled. A
file is loaded by its path, under a module name of its own; its folder comes last in the search path. So a file called
`rich.py` hides no library, and a library hides a file of its name that another file imports.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import re
import site
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from tfaudit.errors import InputError, listed, one_line
from tfaudit.runtime.seals import seal

_REFERENCE = re.compile(
    r"(?!mock:)(?P<source>.+\.py|[^\W\d]\w*(\.[^\W\d]\w*)*):(?P<name>[^\W\d]\w*)"
)

PATH_VARIABLE = "TFAUDIT_IMPORT_PATH"
"""Environment variable that tells worker processes where else to look for modules."""

_CALL = re.compile(r'^ +File "([^"]+)", line (\d+)', re.MULTILINE)
"""A call that a printed traceback names."""

_FUNCTIONS: dict[tuple[str, str], Callable[..., Any]] = {}
"""Functions by reference and checksum of the source: those that this process defined or imported."""

_importing = 0


def is_reference(text: object) -> bool:
    """Return whether a text has the form of a reference.

    Example:
        >>> [is_reference(text) for text in ("nets.py:build", "package.nets:build", "cifar10", "mnist:3.0.1")]
        [True, True, False, False]
    """
    return isinstance(text, str) and _REFERENCE.fullmatch(text) is not None


def as_reference(argument: str, value: object, expected: str) -> str:
    """Return a text as it is, but with the absolute path of a file, and a function as its reference.

    Args:
        argument: name of the argument, for errors.
        value: a text, or a function at the top level of a module or file.
        expected: other values that are allowed, for errors.

    Raises:
        InputError: neither a text nor a function that another process can import.

    Example:
        >>> as_reference("model", as_reference, "a name")
        'tfaudit.runtime.user_functions:as_reference'
        >>> as_reference("model", lambda: None, "a name")
        Traceback (most recent call last):
        tfaudit.errors.InputError: model: got a lambda, which worker processes cannot import, expected a function at the
        top level of a file, such as 'nets.py:build'
    """
    if isinstance(value, str):
        if is_reference(value) and (source := value.rpartition(":"))[0].endswith(".py"):
            return f"{Path(source[0]).expanduser().absolute()}:{source[2]}"
        return value
    name = getattr(value, "__qualname__", None)
    module = getattr(value, "__module__", "")
    # An object without a name, such as a model, may be callable, too.
    if not callable(value) or name is None:
        raise InputError(argument, _described(value), expected)
    if not name.isidentifier():
        is_lambda = name.endswith("<lambda>")
        what = "a lambda" if is_lambda else f"{name!r}, defined inside a function or class"
        got = f"{what}, which worker processes cannot import"
        how = "a function at the top level of a file, such as 'nets.py:build'"
        raise InputError(argument, got, how)
    file = _source_file(value)
    if file is None:
        got = f"{name!r} of a notebook or prompt, which worker processes cannot import"
        how = f"a function in a file: write the cell to one with %%writefile mine.py, then {argument}='mine.py:{name}'"
        raise InputError(argument, got, how)
    reference = f"{module}:{name}" if _is_importable(module, file) else f"{file}:{name}"
    _FUNCTIONS[reference, source_digest(argument, reference)] = value
    return reference


def import_reference(argument: str, reference: str) -> Callable[..., Any]:
    """Import the function of a reference; nothing needs to be imported beforehand.

    Raises:
        InputError: there is no such file, module or function, or the import fails.
    """
    digest = source_digest(argument, reference)
    if (reference, digest) not in _FUNCTIONS:
        source, _, name = reference.rpartition(":")
        module = import_module(argument, source)
        function = getattr(module, name, None)
        if not callable(function):
            own = [
                key
                for key, value in vars(module).items()
                if inspect.isfunction(value) and not key.startswith("_")
            ]
            expected = f"a function there: {listed(own, 9)}" if own else "a module that defines it"
            raise InputError(argument, f"{reference!r}, which names no function", expected)
        _FUNCTIONS[reference, digest] = function
    return _FUNCTIONS[reference, digest]


def source_digest(argument: str, reference: str) -> str:
    """Return the SHA-256 of the file that a reference, or a path, names; raise `InputError` if there is none."""
    path = source_file(reference) or _module_file(argument, reference.rpartition(":")[0])
    try:
        return seal(Path(path).expanduser().read_bytes())
    except OSError as problem:
        got = f"{reference!r}, whose file cannot be read ({problem.strerror})"
        raise InputError(argument, got, "an existing file") from None


def source_file(source: str) -> str | None:
    """Return the path of the file that a reference, or a path, names; None for a module.

    Example:
        >>> source_file("/home/me/nets.py:build"), source_file("net.keras"), source_file("package.nets:build")
        ('/home/me/nets.py', 'net.keras', None)
    """
    path = source.rpartition(":")[0] if is_reference(source) else source
    return path if path.endswith((".py", ".keras")) else None


def import_file(argument: str, path: Path) -> ModuleType:
    """Import a Python file by its path; a changed file is imported again. Errors become an `InputError`."""
    path = path.expanduser().absolute()
    try:
        digest = seal(path.read_bytes())
    except OSError as problem:
        raise InputError(
            argument, f"{path}, which cannot be read ({problem.strerror})", "a Python file"
        ) from None
    name = f"{path.stem}_{seal(f'{path} {digest}')[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    extend_path([str(path.parent)])
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(argument, str(path), "a Python file, *.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        with _being_imported(argument, str(path)):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def import_module(argument: str, name: str) -> ModuleType:
    """Import a user's module by its name or file, such as one that registers layers with Keras."""
    if name.endswith(".py"):
        return import_file(argument, Path(name))
    _module_file(argument, name)
    with _being_imported(argument, name):
        return importlib.import_module(name)


def is_importing() -> bool:
    """Return whether a user's file is being imported at this moment."""
    return _importing > 0


def check_call(
    argument: str,
    reference: str,
    function: Callable[..., Any],
    call: str,
    *values: Any,
    **named: Any,
) -> None:
    """Raise an `InputError` unless a function can be called with the values; `call` shows how it will be."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # some functions in C have none
        return
    try:
        signature.bind(*values, **named)
    except TypeError as problem:
        got = f"{reference.rpartition(':')[2]}{signature} of {reference!r} ({problem})"
        raise InputError(argument, got, f"a function that can be called as {call}") from None


def call(
    argument: str, reference: str, function: Callable[..., Any], *values: Any, **named: Any
) -> Any:
    """Call a user's function; an exception, or an exit, becomes an `InputError` that names it and the line."""
    try:
        return function(*values, **named)
    except InputError:
        raise
    except (Exception, SystemExit) as problem:
        raise _failed(argument, f"{reference!r}, which failed", problem) from problem


def search_path() -> list[str]:
    """Return the folders in which this process looks for modules, for processes that it starts."""
    return [str(Path(folder).absolute()) for folder in sys.path]


def extend_path(folders: list[str]) -> None:
    """Append folders to the search path for modules, after the standard library and installed packages."""
    sys.path.extend(folder for folder in dict.fromkeys(folders) if folder not in sys.path)


@contextlib.contextmanager
def _being_imported(argument: str, source: str) -> Iterator[None]:
    global _importing
    _importing += 1
    try:
        yield
    except InputError:
        raise
    except (Exception, SystemExit) as problem:
        raise _failed(argument, f"{source}, whose import fails", problem) from problem
    finally:
        _importing -= 1


def _failed(argument: str, what: str, problem: BaseException) -> InputError:
    """Return the error of the user's code that raised an exception, with the last line of it that was reached."""
    frames = traceback.extract_tb(problem.__traceback__)
    place = _own_line([(frame.filename, str(frame.lineno)) for frame in frames])
    missing = isinstance(problem, ModuleNotFoundError)
    expected = (
        "modules that are installed or stand beside the file" if missing else "code that runs"
    )
    return InputError(
        argument, f"{what} ({type(problem).__name__}: {one_line(problem)}{place})", expected
    )


def failure_line(text: str) -> str:
    r"""Return the exception of a printed traceback in one line, and the last line of the user's code that it names.

    For a text that is not a traceback, return its last line.

    Example:
        >>> failure_line('  File "/home/me/study.py", line 7, in fit\n    1 / 0\nZeroDivisionError: by zero\nmore')
        'ZeroDivisionError: by zero, line 7 of study.py'
    """
    lines = text.rstrip().splitlines()
    calls = [number for number, line in enumerate(lines) if _CALL.match(line)]
    ends = [line for line in lines[calls[-1] :] if not line.startswith(" ")] if calls else []
    return (ends or lines[-1:])[0] + _own_line(_CALL.findall(text))


def _own_line(lines: Sequence[tuple[str, str]]) -> str:
    """Return in words the last of some lines of files that is neither in a library nor in this package."""
    libraries = (*_installed(), str(Path(__file__).parents[1]), "<")
    own = [(file, number) for file, number in lines if not file.startswith(libraries)]
    return f", line {own[-1][1]} of {Path(own[-1][0]).name}" if own else ""


def _module_file(argument: str, name: str) -> str:
    """Return the source file of a module; the current folder is searched last."""
    extend_path([str(Path.cwd())])
    try:
        with _being_imported(argument, name):
            spec = importlib.util.find_spec(name)
    except InputError as problem:
        if "ModuleNotFoundError" not in problem.got:
            raise
        spec = None
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        got = f"{name!r}, which is no module that can be imported from {Path.cwd()}"
        raise InputError(argument, got, "a module, or the path of a file, such as 'nets.py:build'")
    return spec.origin


@cache
def _installed() -> tuple[str, ...]:
    """Return the folders of the standard library and of installed packages."""
    own = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return tuple({*own, *site.getsitepackages(), site.getusersitepackages()})


def _is_importable(module: str, file: str) -> bool:
    """Return whether to record a module's name rather than its path: a package, or something installed."""
    loaded = getattr(sys.modules.get(module), "__file__", None)
    in_package = "." in module or file.startswith(_installed())
    return (
        module != "__main__"
        and in_package
        and loaded is not None
        and Path(loaded).resolve() == Path(file).resolve()
    )


def _source_file(function: object) -> str | None:
    try:
        file = inspect.getsourcefile(inspect.unwrap(function))  # type: ignore[arg-type]
    except (TypeError, OSError):
        return None
    return (
        str(Path(file).absolute())
        if file and Path(file).is_file() and file.endswith(".py")
        else None
    )


def _described(value: object) -> str:
    kind = type(value)
    return (
        f"a {kind.__name__} of {kind.__module__.partition('.')[0]}"
        if kind.__module__ != "builtins"
        else repr(value)
    )
