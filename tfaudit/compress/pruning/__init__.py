"""Pruning of Keras 3 models with masks."""
