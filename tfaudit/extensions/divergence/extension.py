"""Declares the divergence of probabilities: its audit, and the names of its result."""

from tfaudit.extensions import Extension

_HOME = "tfaudit.extensions.divergence"

EXTENSION = Extension(
    name="divergence",
    names={
        "audits.divergence": f"{_HOME}.divergence:divergence",
        "audits.Divergence": f"{_HOME}.divergence:Divergence",
    },
    audits={"divergence": f"{_HOME}.audits:AUDIT"},
)
