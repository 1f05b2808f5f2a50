"""Data sets by name, preparation of local files, and augmentation."""
