"""Declares `cost`, in Python and as a command, and the section on size and speed."""

from tfaudit.extensions import Extension

_HOME = "tfaudit.extensions.costs"

EXTENSION = Extension(
    name="costs",
    names={
        "cost": f"{_HOME}.cost:cost",
        "compress.cost": f"{_HOME}.cost:cost",
        "compress.Cost": f"{_HOME}.cost:Cost",
        "compress.measure_variants": f"{_HOME}.cost:measure_variants",
    },
    joint_audits={"costs": f"{_HOME}.section:COSTS"},
    commands={"cost": f"{_HOME}.command:cost"},
)
