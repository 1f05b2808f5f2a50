"""Declares detection: which boxes a compressed detector no longer finds."""

from tfaudit.extensions import Extension

EXTENSION = Extension(name="detection", requires=("pycocotools",))
