"""Predictions of any framework, read from CSV, Parquet, NPY and NPZ files."""
