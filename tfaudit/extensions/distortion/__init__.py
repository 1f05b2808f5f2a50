"""Recall distortion: slopes of the recall balances."""
