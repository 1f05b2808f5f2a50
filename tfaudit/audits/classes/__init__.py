"""What compression does to every class."""
