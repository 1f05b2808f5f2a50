"""Effects of compression on every class."""
