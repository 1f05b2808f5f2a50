"""How far compression moves the probabilities."""
