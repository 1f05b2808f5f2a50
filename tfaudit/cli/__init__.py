"""The `tfaudit` command, one file per subcommand.

Exit codes: 0 well, 1 some members failed or a gate is shut, 2 bad input or no judgement, 130 interrupted.
"""

from __future__ import annotations

import os
import sys

from tfaudit.cli import audit, compare, cost, gate, prepare, recipes, report, run, view
from tfaudit.cli.console import app, err
from tfaudit.errors import InputError

__all__ = ["audit", "compare", "cost", "gate", "main", "prepare", "recipes", "report", "run", "view"]


def main() -> None:
    """Runs the command line; bad input is one line and exit code 2, never a traceback."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    try:
        app()
    except InputError as problem:
        err.print(f"tfaudit: {problem}", markup=False, soft_wrap=True)
        sys.exit(2)
