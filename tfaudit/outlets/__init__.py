"""Reports of an audit: tables, charts, one HTML file."""
