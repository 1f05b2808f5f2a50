"""Which images compression will change, from the dense model alone."""
