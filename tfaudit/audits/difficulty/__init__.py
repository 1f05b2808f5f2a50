"""How hard exemplars are, at every variant."""
