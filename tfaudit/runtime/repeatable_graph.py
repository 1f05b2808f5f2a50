"""Whether a TensorFlow graph gives the same results again: what it draws at random, and what it writes."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tfaudit.errors import InputError, listed

_DRAWS = re.compile("Random|Multinomial|TruncatedNormal|StatefulUniform")
_WRITES = re.compile("^Assign|^ResourceScatter")


def require_repeatable(graph: Any, results: Iterable[str]) -> None:
    """Raise an `InputError` if a graph writes variables, or draws random numbers on which results depend.

    Augmentation layers of Keras draw numbers in inference mode, too, and do not use them.

    Args:
        graph: a `GraphDef`, in which all functions are known by name.
        results: names of the nodes of the results.
    """
    functions = {part.signature.name: part.node_def for part in graph.library.function}
    writes = [node.name for node in _with_inner(graph.node, functions) if _WRITES.search(node.op)]
    used = _with_inner(_leading_to(results, graph.node), functions)
    draws = [node.name for node in used if _DRAWS.search(node.op)]
    if found := sorted({name.rpartition("/")[0] or name for name in (*writes, *draws)}):
        raise not_repeatable(found)


def not_repeatable(names: Sequence[str]) -> InputError:
    """Return the error for a model that changes from call to call, with the names of what changes it."""
    got = (
        f"a model that draws random numbers or writes variables in inference mode: {listed(names)}"
    )
    expected = "one that gives an example the same scores each time: leave out training=True"
    return InputError("model", got, expected)


def _leading_to(results: Iterable[str], nodes: Iterable[Any]) -> Iterator[Any]:
    """Yield the nodes on whose values results depend."""
    by_name = {node.name: node for node in nodes}
    names = list(results)
    seen = set(names)
    while names:
        yield (node := by_name[names.pop()])
        sources = {name.partition(":")[0] for name in node.input if not name.startswith("^")}
        names += sources - seen
        seen |= sources


def _with_inner(nodes: Iterable[Any], functions: dict[str, Any]) -> Iterator[Any]:
    """Yield nodes, and those of the functions that they call, such as the body of a loop."""
    waiting, called = list(nodes), set[str]()
    while waiting:
        yield (node := waiting.pop())
        for value in node.attr.values():
            names = {part.name for part in (value.func, *value.list.func) if part.name}
            for name in names - called:
                called.add(name)
                waiting += functions.get(name, ())
