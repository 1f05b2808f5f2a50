"""Accuracy of groups and individuals."""
