"""Which channels of a Keras graph can be left out, and the smaller graph without them."""
