"""Gaps between groups and their intersections."""
