"""A program whose writes are recorded, and what a disk may hold after a loss of power at any of them.

`strace` records the system calls, so that the writes of SQLite and Arrow count, too. Only what a program has synced is
sure to be on the disk: the rest may be there, be missing or be torn between sectors of 512 bytes, and the names of
files may change in the disk's own order.
"""

import collections
import dataclasses
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np

SECTOR = 512
_CALLS = (
    "openat,open,creat,write,writev,pwrite64,pwritev,lseek,ftruncate,fallocate,fsync,fdatasync,close,dup,dup2,dup3,"
    "rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,link,linkat,symlink,copy_file_range,sendfile"
)
_CALL = re.compile(r"^(\d+) +(\w+)\((.*)\) += (-?\d+)", re.DOTALL)
_FIRST, _RESUMED = " <unfinished ...>", re.compile(r"^(\d+) +<\.\.\. \w+ resumed>(.*)$", re.DOTALL)
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
ACKNOWLEDGED = "acknowledged-"
"""A program that removes a file of this name and a number, which does not exist, says that its work is on the disk."""


@dataclasses.dataclass(frozen=True)
class Write:
    """Bytes of a file, from an offset on; of the file's node, because its name may change."""

    node: int
    offset: int
    content: bytes


@dataclasses.dataclass(frozen=True)
class Cut:
    """A file cut or extended to a size."""

    node: int
    size: int


@dataclasses.dataclass(frozen=True)
class Names:
    """Names that change at once: a node by path, -1 for a folder, None where nothing is left."""

    nodes: dict[str, int | None]

    @property
    def folders(self) -> set[str]:
        return {str(Path(path).parent) for path in self.nodes}


@dataclasses.dataclass(frozen=True)
class Sync:
    """A file (by node) or a folder (by path) of which everything before is on the disk."""

    what: int | str


@dataclasses.dataclass(frozen=True)
class Acknowledged:
    """The program says that it has stored so much."""

    number: int


Operation = Write | Cut | Names | Sync | Acknowledged


def recorded(command: list[str], directory: Path, log: Path, **options) -> list[Operation]:
    """Run a command of one process and return its operations in a directory, in order."""
    trace = [
        "strace",
        "-f",
        "-qq",
        "-xx",
        "-s",
        str(2**27),
        "-e",
        f"trace={_CALLS}",
        "-o",
        str(log),
    ]
    subprocess.run([*trace, *command], check=True, **options)
    return list(_Recorder(directory).operations(_calls(log.read_text())))


def _calls(log: str) -> Iterator[tuple[str, str, int]]:
    """Yield name, arguments and result of each call that succeeded, or that acknowledges."""
    begun = {}
    for line in log.splitlines():
        if line.endswith(_FIRST):
            begun[line.split(" ", 1)[0]] = line.removesuffix(_FIRST)
            continue
        if resumed := _RESUMED.match(line):
            line = begun.pop(resumed[1]) + resumed[2]
        if call := _CALL.match(line):
            yield call[2], call[3], int(call[4])


class _Recorder:
    """Turns system calls into operations, as the kernel would carry them out."""

    def __init__(self, directory: Path) -> None:
        self._root = os.path.realpath(directory)
        self._nodes: dict[str, int] = {}
        self._count = 0
        self._open: dict[int, tuple[int | str, int]] = {}  # node or folder, and the position
        self._sizes: collections.Counter[int] = collections.Counter()

    def operations(self, calls: Iterator[tuple[str, str, int]]) -> Iterator[Operation]:
        for name, arguments, result in calls:
            texts = [bytes.fromhex(text.replace("\\x", "")) for text in _TEXT.findall(arguments)]
            paths = [os.fsdecode(text) for text in texts]
            if name == "unlink" and ACKNOWLEDGED in paths[0]:
                yield Acknowledged(int(paths[0].rpartition("-")[2]))
            elif result >= 0:
                yield from self._done(name, arguments, result, texts, paths)

    def _done(self, name, arguments, result, texts, paths) -> Iterator[Operation]:
        if name in ("open", "openat", "creat"):
            yield from self._opened(result, paths[0], arguments)
        elif name in ("rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "link"):
            yield from self._renamed(name, paths)
        elif name in ("mkdir", "mkdirat"):
            if self._is_inside(paths[0]):
                yield Names({paths[0]: -1})
        elif name.startswith(("dup", "copy", "send", "sym", "fallocate", "linkat")):
            assert self._root not in "".join(paths), f"{name} is not recorded"
        elif (number := int(arguments.split(",")[0].rstrip(")"))) in self._open:
            yield from self._at(name, number, arguments, result, b"".join(texts))

    def _is_inside(self, path: str) -> bool:
        return path.startswith(self._root + os.sep) or path == self._root

    def _opened(self, number: int, path: str, flags: str) -> Iterator[Operation]:
        self._open.pop(number, None)
        if not self._is_inside(path):
            return
        if "O_DIRECTORY" in flags or (path not in self._nodes and "O_CREAT" not in flags):
            self._open[number] = path, 0
            return
        if path not in self._nodes:
            self._count += 1
            self._nodes[path] = self._count
            yield Names({path: self._count})
        node = self._nodes[path]
        if "O_TRUNC" in flags and self._sizes[node]:
            self._sizes[node] = 0
            yield Cut(node, 0)
        self._open[number] = node, self._sizes[node] if "O_APPEND" in flags else 0

    def _renamed(self, name: str, paths: list[str]) -> Iterator[Operation]:
        if not self._is_inside(paths[0]):
            return
        node = self._nodes.pop(paths[0], None)
        if name.startswith("rename"):
            assert node is not None, f"a folder was renamed: {paths}"
            self._nodes[paths[1]] = node
            yield Names({paths[0]: None, paths[1]: node})
        else:
            yield Names({paths[0]: None})

    def _at(self, name: str, number: int, arguments: str, result: int, content: bytes):
        node, position = self._open[number]
        if name == "close":
            del self._open[number]
        elif name in ("fsync", "fdatasync"):
            yield Sync(node)
        elif name == "lseek":
            self._open[number] = node, result
        elif name == "ftruncate":
            size = int(arguments.split(",")[1])
            self._sizes[node] = size
            yield Cut(node, size)
        else:
            if name.startswith("pwrite"):
                position = int(arguments.rsplit(",", 1)[1])
            else:
                self._open[number] = node, position + result
            self._sizes[node] = max(self._sizes[node], position + result)
            yield Write(node, position, content[:result])


def left_on_disk(
    operations: list[Operation], number: int, rng: np.random.Generator | None, share: float = 0.5
) -> dict[str, bytes | None]:
    """Return what a disk may hold after a loss of power behind the first operations: content by path, None for folders.

    What is not synced is there with this probability, operation by operation and sector by sector; without a generator
    everything is there.
    """
    files: dict[int, bytearray] = collections.defaultdict(bytearray)
    names: dict[str, int] = {}
    synced = {
        operation.what: place
        for place, operation in enumerate(operations[:number])
        if isinstance(operation, Sync)
    }

    def kept(place: int, *whats: int | str) -> bool:
        sure = all(synced.get(what, -1) > place for what in whats)
        return sure or rng is None or rng.random() < share

    for place, operation in enumerate(operations[:number]):
        if isinstance(operation, Write):
            for sector in _sectors(operation):
                if kept(place, operation.node):
                    _write(files[operation.node], sector)
        elif isinstance(operation, Cut):
            if kept(place, operation.node):
                content = files[operation.node]
                content[:] = content[: operation.size].ljust(operation.size, b"\0")
        elif isinstance(operation, Names) and kept(place, *operation.folders):
            for path, node in operation.nodes.items():
                if node is None:
                    names.pop(path, None)
                else:
                    names[path] = node
    return {path: None if node == -1 else bytes(files[node]) for path, node in names.items()}


def _sectors(write: Write) -> Iterator[Write]:
    """Yield the parts of a write that lie in one sector each."""
    for start in range(-(write.offset % SECTOR), len(write.content), SECTOR):
        first = max(start, 0)
        yield Write(write.node, write.offset + first, write.content[first : start + SECTOR])


def _write(content: bytearray, write: Write) -> None:
    end = write.offset + len(write.content)
    content.extend(bytes(max(end - len(content), 0)))
    content[write.offset : end] = write.content


def restored(disk: dict[str, bytes | None], directory: Path, to: Path) -> None:
    """Write what is on a disk into another directory; a file whose folder is lost is lost."""
    root = os.path.realpath(directory)
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir()
    for path, content in sorted(disk.items()):
        place = to / os.path.relpath(path, root)
        if not place.parent.is_dir() or place == to:
            continue
        if content is None:
            place.mkdir(exist_ok=True)
        else:
            place.write_bytes(content)
