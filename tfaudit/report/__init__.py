"""What people see of an audit: tables, charts, one HTML file."""
