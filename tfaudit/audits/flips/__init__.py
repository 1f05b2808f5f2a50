"""Predictions that change: negative flips, twins trained again, changed images."""
