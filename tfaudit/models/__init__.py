"""Model architectures by name, and model files as architectures."""
