"""Training, compressing and predicting a population of members."""
