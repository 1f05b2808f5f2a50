"""Outcomes of language models, as lm-evaluation-harness writes them."""
