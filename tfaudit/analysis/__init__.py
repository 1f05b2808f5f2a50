"""Every audit of a study, computed once and cached."""
