"""The command line, called within the process."""

from tests.builders.command_line import refused, tfaudit, tfaudit_in  # noqa: F401
