"""Files of arrays and of tables: data, never code."""
