"""Regression of class accuracy on its possible causes, [P]."""
