"""What tests of all audits test here, too."""

from tfaudit.audits.gate.limits import Limits
from tfaudit.extensions.planning.planning import guessed_model, guessed_spread, plan, plan_gate

RESULTS = [
    ("plan", lambda: plan(guessed_spread(), 3)),
    (
        "gate plan",
        lambda: plan_gate(
            guessed_model(guessed_spread()), Limits(overall_drop_pp=20), members=[2], images=[50]
        ),
    ),
]
