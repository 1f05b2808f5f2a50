"""The `tfaudit` command, one file per subcommand.

Exit codes: 0 success, 1 some members failed or a gate is shut, 2 bad input or no decision, 130 interrupted.
"""

import os
import sys

from tfaudit.cli import audit, check, compare, cost, doctor, gate, plan, prepare, recipes, report, run, view
from tfaudit.cli.console import app, err
from tfaudit.errors import InputError, missing_extra

__all__ = ["audit", "check", "compare", "cost", "doctor", "gate", "main", "plan", "prepare", "recipes", "report", "run"]
__all__ += ["view"]


def main() -> None:
    """Run the command line. Bad input is one line and exit code 2, never a traceback."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    try:
        app()
    except (InputError, ModuleNotFoundError) as error:
        command = " ".join(["tfaudit", *sys.argv[1:2]])
        told = error if isinstance(error, InputError) else missing_extra(error, command)
        if told is None:
            raise
        err.print(f"tfaudit: {told}", soft_wrap=True)
        sys.exit(2)
