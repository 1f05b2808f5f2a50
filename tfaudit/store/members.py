"""The record of a member, `member.json`: its status, its facts, and the checksums of its files."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def complete_record(variant: str, member: int, files: Mapping[str, bytes], facts: Mapping[str, Any]) -> bytes:
    """Return the record of a complete member, with the size and the SHA-256 of each of its files."""
    sums = {path: {"bytes": len(c), "sha256": hashlib.sha256(c).hexdigest()} for path, c in files.items()}
    return _json({"status": "complete", "variant": variant, "member": member, **facts, "files": sums})


def failed_record(variant: str, member: int, traceback: str) -> bytes:
    """Return the record of a member that failed."""
    return _json({"status": "failed", "variant": variant, "member": member, "traceback": traceback})


def read_record(path: Path) -> dict[str, Any]:
    """Return a record; an empty dictionary if the file is missing or damaged."""
    try:
        record = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    if not isinstance(record, dict):
        return {}
    if record.get("status") == "failed":
        return record if isinstance(record.get("traceback"), str) else {}
    files = record.get("files")
    return record if isinstance(files, dict) and all(isinstance(facts, dict) for facts in files.values()) else {}


def model_origin(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what identifies a member's model: the SHA-256 of its file and its seed, None where unknown."""
    sums = {path.rpartition("/")[2]: facts.get("sha256") for path, facts in record.get("files", {}).items()}
    return {"model": sums.get("model.keras", sums.get("model.tflite")), "seed": record.get("seed")}


def _json(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, indent=2).encode()
