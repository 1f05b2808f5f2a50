"""Declares the planning of studies before anything is trained: its functions and its command."""

from tfaudit.extensions import Extension

_HOME = "tfaudit.extensions.planning"

EXTENSION = Extension(
    name="planning",
    names={
        f"audits.{name}": f"{_HOME}.planning:{name}"
        for name in (
            "plan",
            "plan_gate",
            "plannable",
            "pilot_spread",
            "guessed_spread",
            "guessed_model",
            "Plan",
            "GatePlan",
        )
    },
    commands={"plan": f"{_HOME}.command:plan"},
)
