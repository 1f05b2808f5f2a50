"""The charts, in Altair, one file per audit: they draw the audits' frames and compute only places and labels."""
