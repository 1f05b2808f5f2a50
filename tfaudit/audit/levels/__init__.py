"""Results of several variants side by side: the tables and figures over levels of compression."""
