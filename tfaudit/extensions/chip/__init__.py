"""CHIP: pruning of the channels whose feature maps the others can stand for."""
