"""The house: imports point down and never run in a circle, errors have one form, tests mirror the rooms."""

import ast
import functools
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tfaudit.extensions import GROUP, OURS, extensions

ROOT = Path(__file__).parents[1]

FLOORS = (
    {"errors", "runtime", "extensions"},
    {"stats", "predictions", "outcomes", "charts"},
    {"audits", "datasets"},
    {"study"},
    {"readers", "models", "compress"},
    {"callbacks", "store", "recipes"},
    {"population", "analysis"},
    {"outlets"},
    {"extension"},
    {"cli", "app", "testing", "command"},
    {"pytest_plugin"},
    {"__main__"},
)
"""From the ground up. A room imports from its own floor and from those below.

`extensions` is their list; an `extension` stands above the core, and its `command` beside the command line and viewer,
which reach both by the list alone.
"""

LEVEL = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}

PAGES = ("command", "page")
"""Modules of an extension that the command line or the viewer shows."""


def room_of(name: str) -> str:
    """The room of a module: the first part of its name, or the first two in an extension."""
    parts = name.split(".")
    return ".".join(parts[1:3]) if parts[1] == "extensions" else parts[1]


def level_of(name: str) -> int:
    """The floor of a module."""
    room = room_of(name)
    if "." not in room:
        return LEVEL[room]
    return LEVEL["command" if name.rpartition(".")[2] in PAGES else "extension"]


def modules() -> dict[str, Path]:
    """The file of every module, by dotted name; `app` and `recipes` under the names they are installed by."""
    places = [
        *ROOT.glob("tfaudit/**/*.py"),
        *ROOT.glob("app/**/*.py"),
        *ROOT.glob("recipes/**/*.py"),
    ]
    names = (".".join(place.relative_to(ROOT).with_suffix("").parts) for place in places)
    return {
        (name if name.startswith("tfaudit") else f"tfaudit.{name}").removesuffix(".__init__"): place
        for name, place in zip(names, places, strict=True)
    }


@functools.cache
def nodes(place: Path) -> tuple[ast.AST, ...]:
    """The syntax of a file, which several tests walk."""
    return tuple(ast.walk(ast.parse(place.read_text())))


def imported(place: Path, known: dict[str, Path]) -> Iterator[str]:
    """Modules of tfaudit that a file imports anywhere: at its top, inside functions, for type checkers alone."""
    for node in nodes(place):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in known else node.module for name in inner)


def test_every_import_points_down():
    known = modules()
    for name, place in known.items():
        for other in imported(place, known):
            if "tfaudit" not in (name, other):
                assert level_of(other) <= level_of(name), f"{place} imports {other}"


def test_every_module_that_is_imported_exists_also_without_an_extension():
    for gone in ("none", *OURS):
        known = {
            name: place
            for name, place in modules().items()
            if not f"{name}.".startswith(f"{GROUP}.{gone}.")
        }
        for place in known.values():
            for node in nodes(place):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tfaudit"):
                    assert node.module in known, f"{place}:{node.lineno}, without {gone}"


def in_strings(place: Path) -> Iterator[str]:
    """Modules of extensions that a file names in strings, as an import without an import statement would."""
    for node in nodes(place):
        value = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
        if isinstance(value, str) and value.startswith(f"{GROUP}.") and " " not in value:
            yield value


def test_an_extension_is_reached_by_those_alone_that_declare_it():
    uses = {extension.name: extension.uses for extension in extensions()}
    known = modules()
    for name, place in known.items():
        _, _, own, *_ = [*name.split("."), "", ""]
        for other in (*imported(place, known), *in_strings(place)):
            if other.startswith(f"{GROUP}."):
                allowed = (own, *uses[own]) if name.startswith(f"{GROUP}.") else ()
                assert other.split(".")[2] in allowed, f"{place} imports {other}"


def test_no_imports_run_in_a_circle():
    known = modules()
    files = {name: set(imported(place, known)) - {name, "tfaudit"} for name, place in known.items()}
    rooms: dict[str, set[str]] = {}
    for name, others in files.items():
        if name != "tfaudit":
            room = room_of(name)
            rooms.setdefault(room, set()).update({room_of(other) for other in others} - {room})
    for graph in (files, rooms):
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as problem:
            raise AssertionError(" -> ".join(problem.args[1])) from None


def test_every_input_error_says_what_it_got_and_what_it_expected():
    for place in modules().values():
        for node in nodes(place):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "InputError":
                passed_on = any(isinstance(argument, ast.Starred) for argument in node.args)
                assert passed_on or len(node.args) + len(node.keywords) == 3, (
                    f"{place}:{node.lineno}"
                )


def names_defined(node: ast.AST) -> Iterator[str]:
    """Names that a piece of syntax gives to something."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.id if isinstance(node, ast.Name) else node.attr


def test_private_names_of_libraries_stand_in_one_file_for_each_library():
    known = modules()
    files = [place for place in known.values() if not place.stem.endswith("_internals")]
    own = {name for place in files for node in nodes(place) for name in names_defined(node)}
    for place in files:
        for node in nodes(place):
            if isinstance(node, ast.Attribute) and not node.attr.startswith("__"):
                private = node.attr.startswith("_") and node.attr not in own
                assert not private, f"{place}:{node.lineno}: {node.attr}"
            elif isinstance(node, ast.ImportFrom) and node.module not in known:
                assert ".python." not in (node.module or ""), f"{place}: {node.module}"


def test_tests_share_builders_and_fixtures_and_import_no_other_test():
    for place in ROOT.glob("tests/**/*.py"):
        for node in nodes(place):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests."):
                last = node.module.rpartition(".")[2]
                assert last != "conftest", place
                assert not last.startswith("test_"), place


def test_tests_stand_in_the_rooms_of_what_they_test():
    rooms = {
        place.name
        for place in [*ROOT.glob("tfaudit/*/"), ROOT / "app", ROOT / "recipes"]
        if place.is_dir()
    }
    assert {place.name for place in ROOT.glob("tests/*/")} - {
        "builders",
        "faults",
        "__pycache__",
    } <= rooms


SHARED = {"classes", "comparison", "declaration", "doubts", "result", "ties"}
"""What every audit may import of the others' room."""

COMPOSED = {
    "summary": {"chance", "exemplars", "flips"},
    "verdict": {"gate"},
    "gate": {"robustness"},
    "robustness": {"exemplars"},
    "attributes": {"exemplars"},
    "flips": {"prediction_counts"},
}
"""Audits that are made of others: a gate's limits, a table's columns, or the images that another one found."""


def test_an_audit_imports_no_other_but_those_that_it_is_made_of():
    known = modules()
    for name, place in known.items():
        _, room, *inner = [*name.split("."), "", ""]
        if room != "audits" or not inner[0]:
            continue
        for other in imported(place, known):
            there = [*other.split("."), ""][2]
            allowed = SHARED | COMPOSED.get(inner[0], set()) | {inner[0], ""}
            assert not other.startswith("tfaudit.audits") or there in allowed, f"{name}: {other}"
