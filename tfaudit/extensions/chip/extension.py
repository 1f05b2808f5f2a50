"""Declares the pruning score `chip` and the channel independence that it takes."""

from tfaudit.extensions import Extension

_PLACE = "tfaudit.extensions.chip.chip"

EXTENSION = Extension(
    name="chip",
    channel_scores={"chip": f"{_PLACE}:chip"},
    score_inputs={"independence": f"{_PLACE}:batch_independence"},
)
