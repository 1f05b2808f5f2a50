"""What compression does under corruption: one pass over the conditions, then the tables of `tfaudit.robustness`."""
