"""The sections of a report that depend on what a study holds, one file per audit."""
