"""Counts expected by chance."""
