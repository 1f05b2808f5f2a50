"""Accuracies of the members of every population."""
