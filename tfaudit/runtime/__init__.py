"""The interpreter and the machine: lazy imports, user functions, captured output, garbage collection, file systems."""
