"""May a compressed model be shipped? Limits, checked against what the data can show."""
