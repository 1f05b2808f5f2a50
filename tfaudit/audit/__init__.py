"""Audits: predictions in, frozen results out."""
