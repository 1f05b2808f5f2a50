"""Whether confidence still matches accuracy."""
