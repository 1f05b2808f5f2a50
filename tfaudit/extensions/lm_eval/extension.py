"""Declares the samples of lm-evaluation-harness as outcomes."""

from tfaudit.extensions import Extension

EXTENSION = Extension(
    name="lm_eval",
    outcomes={
        "lm-evaluation-harness": "tfaudit.extensions.lm_eval.lm_samples:read_lm_samples",
    },
)
