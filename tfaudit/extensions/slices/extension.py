"""Declares slices: who pays where no group is known; their audit, command, page and limit."""

from tfaudit.extensions import Extension

_HOME = "tfaudit.extensions.slices"

EXTENSION = Extension(
    name="slices",
    names={
        "slices": f"{_HOME}.slices:slices",
        "audits.slices": f"{_HOME}.slices:slices",
        "audits.Slices": f"{_HOME}.slices:Slices",
    },
    audits={"slices": f"{_HOME}.audits:AUDIT"},
    limits={"slice_drop_pp": f"{_HOME}.slices:slices"},
    commands={"slices": f"{_HOME}.command:slices"},
    pages={"slices": f"{_HOME}.page:PAGE"},
)
