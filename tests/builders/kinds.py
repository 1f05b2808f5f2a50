"""Kinds of quantization whose libraries are installed."""

import importlib.util

from tfaudit.study.quantization import KINDS

HAS_QUANTIZER = importlib.util.find_spec("litert_quantizer") is not None
INSTALLED = [kind for kind, settings in KINDS.items() if HAS_QUANTIZER or not settings.bits]
