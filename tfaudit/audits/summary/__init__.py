"""The table of a study."""
