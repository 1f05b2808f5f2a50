"""Accuracy under corruption."""
