"""Robustness to corruption: rates of two populations by condition, changes of accuracy and recall, exemplars."""
