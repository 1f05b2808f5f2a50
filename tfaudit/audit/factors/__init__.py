"""Regression of class accuracy on what could explain it."""
