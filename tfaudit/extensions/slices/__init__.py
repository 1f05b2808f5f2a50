"""Slices of the images that lose most, found on one half of the images and tested on the other."""
