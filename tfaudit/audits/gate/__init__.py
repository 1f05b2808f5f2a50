"""Limits on what compression may cost, and whether a model keeps them."""
