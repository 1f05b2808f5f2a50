"""Attributes that exemplars have more or less often."""
