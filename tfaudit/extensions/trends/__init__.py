"""Accuracy and properties of the images."""
