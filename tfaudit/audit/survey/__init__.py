"""The human study: its sample, questions and results."""
