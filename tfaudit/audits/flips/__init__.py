"""Predictions that change: negative flips, retrained twins, changed images."""
