"""May a compressed model be shipped? Limits held against what the data can carry."""
