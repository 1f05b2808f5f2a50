"""Pickles whose byte strings are written as Python 2 wrote its text."""

import io
import pickle
from typing import ClassVar


class _Pickler(pickle._Pickler):
    dispatch: ClassVar = dict(pickle._Pickler.dispatch)

    def save_text(self, text):
        short = len(text) < 256
        self.write(
            (b"U" + bytes([len(text)]) if short else b"T" + len(text).to_bytes(4, "little")) + text
        )

    dispatch[bytes] = save_text


def python2_pickle(content):
    """The bytes of the pickle."""
    target = io.BytesIO()
    _Pickler(target, protocol=2).dump(content)
    return target.getvalue()
