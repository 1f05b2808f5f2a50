"""The record of a member, `member.json`: its status, its facts, and the checksums of its files and of itself."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tfaudit.runtime.regular_files import read_regular
from tfaudit.runtime.seals import seal, seal_of_json

_SEAL = "sha256"
"""Key of a file's checksum of its own."""

_OF_THE_STORE = ("status", "variant", "member", "study", "files", "examples")
"""What a store itself writes into the record of a member, beside the facts that its maker tells."""

_NUMBERS = (
    "bytes",
    "gzipped_bytes",
    "sparsity",
    "accuracy",
    "seconds",
    "step_seconds",
    "peak_bytes",
)
"""Facts of a record that are numbers where they are known."""


def complete_record(
    variant: str, member: int, files: Mapping[str, bytes], facts: Mapping[str, Any]
) -> bytes:
    """Return the record of a complete member, with the size and the SHA-256 of each of its files."""
    sums = {path: {"bytes": len(c), "sha256": seal(c)} for path, c in files.items()}
    return sealed_json(
        {"status": "complete", "variant": variant, "member": member, **facts, "files": sums}
    )


def failed_record(variant: str, member: int, traceback: str) -> bytes:
    """Return the record of a member that failed."""
    return sealed_json(
        {"status": "failed", "variant": variant, "member": member, "traceback": traceback}
    )


def read_record(path: Path) -> dict[str, Any]:
    """Return a record; an empty dictionary if the file is missing or damaged."""
    try:
        record = read_sealed_json(read_regular(path))
    except (OSError, ValueError):
        return {}
    if record.get("status") == "failed":
        return record if isinstance(record.get("traceback"), str) else {}
    files = record.get("files")
    if not isinstance(files, dict) or not all(isinstance(facts, dict) for facts in files.values()):
        return {}
    return record if all(_is_number(record.get(name)) for name in _NUMBERS) else {}


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not abs(value) >= 2**63)


def own_facts(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that the maker of a record passed."""
    return {name: fact for name, fact in record.items() if name not in _OF_THE_STORE}


def model_origin(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the identity of a member's model: the SHA-256 of its file and its seed, None if unknown."""
    sums = {
        path.rpartition("/")[2]: facts.get("sha256")
        for path, facts in record.get("files", {}).items()
    }
    return {"model": sums.get("model.keras", sums.get("model.tflite")), "seed": record.get("seed")}


def sealed_json(content: Mapping[str, Any]) -> bytes:
    """Return content as JSON that ends with a checksum of everything before it: a changed digit is noticed."""
    return json.dumps({**content, _SEAL: seal_of_json(content)}, indent=2).encode()


def read_sealed_json(text: bytes) -> dict[str, Any]:
    """Return what `sealed_json` wrote.

    Raises:
        ValueError: the text is not a JSON object, or does not match its checksum.

    Example:
        >>> read_sealed_json(sealed_json({"population": 30}))
        {'population': 30}
        >>> read_sealed_json(sealed_json({"population": 30}).replace(b"30", b"20"))
        Traceback (most recent call last):
        ValueError: the content does not match its checksum
    """
    try:
        content = json.loads(text)
        # Half a character, which JSON can spell, is no text.
        json.dumps(content, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(content, dict):
        raise ValueError(f"{type(content).__name__} instead of an object")
    if content.pop(_SEAL, None) != seal_of_json(content):
        raise ValueError("the content does not match its checksum")
    return content
