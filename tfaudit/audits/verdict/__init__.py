"""The verdict on every variant of a study."""
