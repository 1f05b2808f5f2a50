"""Model architectures by name."""
