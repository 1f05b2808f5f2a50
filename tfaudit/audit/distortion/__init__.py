"""Recall distortion: do the recalls of the classes drift apart?"""
