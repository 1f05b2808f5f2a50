"""Changes of classes over all variants, corrected together."""
