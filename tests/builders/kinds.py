"""Kinds of quantization whose libraries are installed."""

import contextlib
import importlib.util
from collections.abc import Iterator
from unittest import mock

from tfaudit.study.quantization import KINDS

HAS_QUANTIZER = importlib.util.find_spec("litert_quantizer") is not None
ALL = dict(KINDS)
INSTALLED = [kind for kind, settings in KINDS.items() if HAS_QUANTIZER or not settings.bits]


@contextlib.contextmanager
def only_kinds(*names: str) -> Iterator[None]:
    """Some kinds alone exist, for a search of seconds."""
    kinds = {name: ALL[name] for name in names}
    with (
        mock.patch.dict(KINDS.core, kinds, clear=True),
        mock.patch.object(KINDS, "added", dict),
    ):
        yield
