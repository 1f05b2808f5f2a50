"""Factors that explain the accuracy of classes."""
