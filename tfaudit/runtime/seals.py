"""Seals: SHA-256 checksums by which anything that is stored is known again, and damage is noticed."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

LENGTH = 64
"""Characters of a seal."""


def seal(content: bytes | str) -> str:
    """Return the seal of bytes or a text.

    Example:
        >>> seal("text") == seal(b"text")
        True
    """
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def seal_of_json(value: Any, **options: Any) -> str:
    """Return the seal of a JSON value; options are those of `json.dumps`."""
    return seal(json.dumps(value, **options))


def seal_of_parts(parts: Iterable[bytes | memoryview]) -> str:
    """Return the seal of a sequence of bytes, without joining them.

    Example:
        >>> seal_of_parts([b"a", b"b"]) == seal_of_parts([b"ab"])
        False
    """
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def seal_of_file(file: Any) -> str:
    """Return the seal of the rest of an open file."""
    return hashlib.file_digest(file, "sha256").hexdigest()


def sealed(content: bytes) -> bytes:
    """Return content with its seal behind it."""
    return content + seal(content).encode()


def unsealed(content: bytes) -> bytes:
    """Return what `sealed` took; raise a `ValueError` if it does not match its seal.

    Example:
        >>> unsealed(sealed(b"text"))
        b'text'
    """
    body, end = content[:-LENGTH], content[-LENGTH:]
    if seal(body).encode() != end:
        raise ValueError("the content does not match its checksum")
    return body
