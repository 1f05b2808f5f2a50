"""Removal of channels that contribute nothing from a Keras model."""
