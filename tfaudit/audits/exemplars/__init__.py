"""Images whose modal label changes (PIEs)."""
