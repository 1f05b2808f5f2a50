"""Files of JSON lines: an object per line."""

import json
from pathlib import Path
from typing import Any

from tfaudit.errors import InputError


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file; only a line feed ends a line, since texts may hold other signs that do.

    Raises:
        InputError: the file cannot be read, is damaged, or holds anything but objects.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
        rows = [json.loads(line) for line in lines if line.strip()]
    except OSError as problem:
        got = f"an unreadable file ({problem.strerror})"
        raise InputError(str(path), got, "a readable one") from None
    except ValueError:
        raise InputError(str(path), "a damaged or truncated file", "JSON lines in UTF-8") from None
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise InputError(str(path), "lines that are no objects", "an object in every line")
    return rows
