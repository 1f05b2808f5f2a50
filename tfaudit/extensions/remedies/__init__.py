"""Remedies: callbacks that limit what a compressed model forgets, and their comparison with controls."""
