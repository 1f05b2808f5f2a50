"""Counts that are expected by chance."""
