"""Remedies against their controls."""
