"""Detection: which boxes a compressed detector no longer finds, by class, size and group; false positives, and mAP."""
