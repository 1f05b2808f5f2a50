"""Altair charts: frames in, charts out."""
