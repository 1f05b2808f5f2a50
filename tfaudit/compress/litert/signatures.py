"""Signatures of a flatbuffer: which of its functions runs."""

import struct
from typing import Any

from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from flatbuffers.table import Table

from tfaudit.errors import InputError, listed

_SUBGRAPHS, _SIGNATURES, _SUBGRAPH_INDEX = 8, 18, 12
"""Places of fields by the schema: the lists of a file's table, and the number in a signature's."""


def with_signature(content: bytes, signature: str | None = None) -> bytes:
    """Return a flatbuffer with one signature alone, whose subgraph is the main one.

    Unless it is named, it is the only one of the file, or the only one that takes batches and returns scores: files
    that train on a device have others for a training step, which returns a loss, and for checkpoints, which take a
    path.

    Args:
        content: the bytes of the file; returned as they are if it has no signatures or is no flatbuffer.
        signature: name of the signature; ignored if there is only one.

    Raises:
        InputError: the file has no such signature, or none is named and it is unclear which is meant.
    """
    try:
        interpreter = Interpreter(model_content=content)
        names = list(interpreter.get_signature_list())
    except (ValueError, RuntimeError):
        return content
    if len(names) < 2:
        return _alone(content, *names) if names else content
    if signature is None:
        usable = [name for name in names if _gives_scores(interpreter.get_signature_runner(name))]
        [signature] = usable if len(usable) == 1 else [None]
    if signature not in names:
        got = "none" if signature is None else repr(signature)
        expected = f"one of {listed(names, 9)}"
        raise InputError("signature", f"{got} for a flatbuffer of several", expected)
    return _alone(content, signature)


def _gives_scores(runner: Any) -> bool:
    """Return whether every input has a side, that of the batch, and some output a second one, that of the classes."""
    inputs, outputs = runner.get_input_details(), runner.get_output_details()
    return all(len(detail["shape"]) for detail in inputs.values()) and any(
        len(detail["shape"]) == 2 for detail in outputs.values()
    )


def _alone(content: bytes, name: Any) -> bytes:
    """Return a file with one of its signatures. Only references change: weights stay where they are, and aligned."""
    made = bytearray(content)
    model = schema.Model.GetRootAs(made, 0)
    numbers = range(model.SignatureDefsLength())
    keys = [model.SignatureDefs(number).SignatureKey() for number in numbers]
    root = Table(made, struct.unpack_from("<I", made)[0])
    graphs, signatures = (root.Vector(root.Offset(field)) for field in (_SUBGRAPHS, _SIGNATURES))
    chosen = Table(made, root.Indirect(signatures + 4 * keys.index(name.encode())))
    if field := chosen.Offset(_SUBGRAPH_INDEX):  # left out for 0
        [number] = struct.unpack_from("<I", made, chosen.Pos + field)
        _refer(made, graphs, root.Indirect(graphs + 4 * number))
        struct.pack_into("<I", made, chosen.Pos + field, 0)
    _refer(made, signatures, chosen.Pos)
    struct.pack_into("<I", made, signatures - 4, 1)
    return bytes(made)


def _refer(content: bytearray, place: int, target: int) -> None:
    """Let the reference at a place lead to a table."""
    struct.pack_into("<I", content, place, target - place)
