"""Recall distortion, [R]: one comparison, the slopes of many, their tests and tables."""
