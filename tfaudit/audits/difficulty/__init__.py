"""Difficulty of exemplars for every variant."""
