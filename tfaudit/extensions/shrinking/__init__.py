"""Removal of channels without any contribution from a Keras model."""
