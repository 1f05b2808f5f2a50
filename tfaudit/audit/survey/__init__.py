"""The human study of exemplars: its sample, questions and results."""
