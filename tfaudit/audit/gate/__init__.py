"""The gate: may a compressed model ship? Limits, measurements, checks and the verdict."""
