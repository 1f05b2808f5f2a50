"""Results show their tables in notebooks."""

import dataclasses
import importlib
import inspect
import pkgutil

import tfaudit
from tests.builders.populations import population
from tfaudit.audits.classes.classes import class_impact


def test_every_result_has_a_table_for_notebooks():
    rooms = tuple(f"tfaudit.{room}." for room in ("audits", "compress", "analysis", "extensions"))
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


def test_tables_notes_and_names_are_shown_as_text(store):
    impact = class_impact(population(1), population(2, hurt=[3]))
    shown = impact._repr_html_()
    assert "<b>ClassImpact</b>" in shown
    assert shown.count("<tr") == 1 + len(impact.frame())
    of_store = store._repr_html_()
    assert store.study.name in of_store
    assert of_store.count("<tr") == 1 + len(store.variants)
