"""Pruning: one-shot, gradual inside `model.fit`, training under constant masks, and rewinding."""
