"""Pruning: one-shot, gradual inside `model.fit`, under constant masks, and rewinding."""
