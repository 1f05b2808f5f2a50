"""Results show their tables in notebooks."""

import dataclasses
import importlib
import inspect
import pkgutil

import tfaudit


def test_every_result_has_a_table_for_notebooks():
    rooms = ("tfaudit.audits.", "tfaudit.compress.", "tfaudit.analysis.")
    modules = [
        m.name
        for m in pkgutil.walk_packages(tfaudit.__path__, "tfaudit.")
        if m.name.startswith(rooms)
    ]
    kinds = {
        kind
        for module in modules
        for kind in vars(importlib.import_module(module)).values()
        if inspect.isclass(kind) and dataclasses.is_dataclass(kind) and hasattr(kind, "frame")
    }
    assert len(kinds) > 20
    assert {kind.__name__ for kind in kinds if not hasattr(kind, "_repr_html_")} == set()
    assert {kind.__name__ for kind in kinds if kind.__str__ is object.__str__} == set()
