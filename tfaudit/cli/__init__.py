"""The `tfaudit` command, one file per subcommand.

Exit codes: 0 success, 1 some members failed or a gate is shut, 2 bad input or no decision, 130 interrupted.
"""

import os
import sys

from tfaudit.cli import audit, check, compare, cost, gate, plan, prepare, recipes, report, run, view
from tfaudit.cli.console import app, err
from tfaudit.errors import InputError

__all__ = ["audit", "check", "compare", "cost", "gate", "main", "plan", "prepare", "recipes", "report", "run", "view"]


def main() -> None:
    """Run the command line. Bad input is one line and exit code 2, never a traceback."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    try:
        app()
    except InputError as error:
        err.print(f"tfaudit: {error}", soft_wrap=True)
        sys.exit(2)
