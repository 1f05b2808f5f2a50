"""Mixed precision: weights of 4 bits, wider types of single layers, and what each layer costs."""
