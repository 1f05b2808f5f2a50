"""Recall and the number of training images of a class."""
