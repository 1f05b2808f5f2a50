"""Populations: training, compressing and testing the members of a study."""
