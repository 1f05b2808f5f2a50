"""The formats of this extension."""

from tfaudit.outlets.registry import Outlet

_FILES = "tfaudit.extensions.exports.exports"

CSV = Outlet("a table, exemplars.csv, and the images", f"{_FILES}:csv_files")
PARQUET = Outlet("the same as exemplars.parquet", f"{_FILES}:parquet_files")
FIFTYONE = Outlet("a data set that FiftyOne reads", f"{_FILES}:fiftyone_files")
PDF = Outlet("the report as PDF", "tfaudit.extensions.exports.pdf:printer", takes="page")
