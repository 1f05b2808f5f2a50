"""Answers of human raters."""
