"""The `tfaudit` command, one file per subcommand.

Exit codes: 0 success, 1 failed members or a failed gate, 2 bad input, 3 an unexpected error, 130 interrupted. For
`gate` and `compress` 2 is "cannot judge", and bad input is 4.
"""

import os
import sys
import warnings
from typing import Any

from tfaudit.cli import (  # noqa: F401  # a module registers its command
    audit,
    check,
    compare,
    doctor,
    gate,
    prepare,
    recipes,
    report,
    run,
    view,
)
from tfaudit.cli.console import app, bad_input_code, err
from tfaudit.errors import InputError, Notice, missing_extra
from tfaudit.population.machine import onednn_setting
from tfaudit.runtime.captured_output import import_tensorflow_quietly
from tfaudit.runtime.garbage_collection import collect_seldom
from tfaudit.runtime.standard_streams import reserved_stdout
from tfaudit.runtime.user_functions import import_module


def _imported(words: list[str]) -> list[str]:
    """Import the modules, or Python files, of `--import`, which every command takes; return the other words."""
    rest = []
    end = words.index("--") if "--" in words else len(words)
    queue = iter(words[:end])
    for word in queue:
        name, equals, module = word.partition("=")
        if name != "--import":
            rest.append(word)
            continue
        module = module if equals else next(queue, "")
        if not module:
            raise InputError("--import", "nothing", "a module, such as my_layers, or a Python file")
        with reserved_stdout():
            import_module("--import", module)
    return rest + words[end:]


def _show_notices_in_one_line() -> None:
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **named: Any) -> None:
        if issubclass(category, Notice):
            err.tell(f"tfaudit: {message}")
        else:
            usual(message, category, *place, **named)

    warnings.showwarning = show


def _run_keras_on_tensorflow() -> None:
    """Choose the backend of this process and its workers: TensorFlow, since a saved model has none of its own."""
    backend = os.environ.get("KERAS_BACKEND") or "tensorflow"
    if backend != "tensorflow":
        err.print(
            f"tfaudit: KERAS_BACKEND={backend} has no effect: commands run Keras on TensorFlow"
        )
    os.environ["KERAS_BACKEND"] = "tensorflow"


def main() -> None:
    """Run the command line in this process. Bad input gives one line and its exit code, never a traceback."""
    collect_seldom()
    _show_notices_in_one_line()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ |= onednn_setting()
    import_tensorflow_quietly()
    _run_keras_on_tensorflow()
    try:
        app(_imported(sys.argv[1:]))
    except (InputError, ModuleNotFoundError) as error:
        told: Exception | None = error
        if not isinstance(error, InputError):
            told = missing_extra(error, " ".join(["tfaudit", *sys.argv[1:2]]))
        if told is None:
            raise
        err.tell(f"tfaudit: {told}")
        sys.exit(bad_input_code(sys.argv[1:]))
