"""Declares the command `tfaudit export`, its formats, and the PDF of a report."""

from tfaudit.extensions import Extension

_FORMATS = "tfaudit.extensions.exports.formats"

EXTENSION = Extension(
    name="exports",
    commands={"export": "tfaudit.extensions.exports.command:export"},
    exports={
        "csv": f"{_FORMATS}:CSV",
        "parquet": f"{_FORMATS}:PARQUET",
        "fiftyone": f"{_FORMATS}:FIFTYONE",
        "pdf": f"{_FORMATS}:PDF",
    },
)
