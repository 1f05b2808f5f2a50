"""Predictions of any framework, read from files."""
