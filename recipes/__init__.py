"""Recipes: one study per file."""
