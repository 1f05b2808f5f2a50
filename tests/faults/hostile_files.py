"""Reads hostile files of predictions, one per seed: `python -m tests.faults.hostile_files FIRST LAST`.

Prints a line per trial that ends otherwise than in predictions or in one clear line: the seed, the file and the error.
A process of its own, because a damaged file may crash a library that reads it, or ask for all the memory.
"""

import io
import json
import resource
import signal
import sys
import tempfile
import traceback
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

from tfaudit.errors import InputError
from tfaudit.readers.prediction_files import read_predictions

ROWS, CLASSES = 12, 3
WORDS = [b"9" * 400, b"nan", b"1e999", b'"', b"\n", b",", b"-", b"\x00", b"(", b"{", "é".encode(), b"True"]
SECONDS, MEMORY = 20, 2**30
"""A trial may take so long, and so much memory beyond what the libraries take."""


def valid(kind, rng):
    """The bytes of a file that can be read."""
    scores = rng.dirichlet(np.ones(CLASSES), ROWS)
    table = pd.DataFrame(scores, columns=["cat", "dog", "owl"]).assign(example=[f"e{i}" for i in range(ROWS)])
    buffer = io.BytesIO()
    if kind == "csv":
        return table.to_csv(index=False).encode()
    if kind == "parquet":
        table.to_parquet(buffer)
    elif kind == "npy":
        np.save(buffer, scores)
    else:
        np.savez(buffer, scores=scores)
    return buffer.getvalue()


def mutated(content, rng):
    """The bytes with some flipped, cut out, repeated or put in."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 8)):
        place = int(rng.integers(len(data))) if data else 0
        change = rng.integers(6)
        if change == 0 and data:
            data[place] = rng.integers(256)
        elif change == 1:
            del data[place:]
        elif change == 2:
            del data[place : place + int(rng.integers(1, 40))]
        elif change == 3:
            data[place:place] = data[: int(rng.integers(1, 60))]
        elif change == 4:
            data[place:place] = rng.bytes(int(rng.integers(1, 20)))
        else:
            words = [
                b"9" * 400,
                b"nan",
                b"1e999",
                b'"',
                b"\n",
                b",",
                b"-",
                b"\x00",
                b"(",
                b"{",
                "é".encode(),
                b"'True'",
            ]
            data[place : place + 3] = words[rng.integers(len(words))]
    return bytes(data)


def _described(descr="'<f8'", shape="(2,)"):
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"


def _header(text, version=(1, 0)):
    body = text.encode()
    return b"\x93NUMPY" + bytes(version) + len(body).to_bytes(2 if version == (1, 0) else 4, "little") + body


def _zip(member, content, method=zipfile.ZIP_STORED, flags=None):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr(member, content)
    data = buffer.getvalue()
    if flags is not None:  # of the local header and of the directory
        place = data.rindex(b"PK\x01\x02")
        data = data[:6] + flags + data[8 : place + 8] + flags + data[place + 10 :]
    return data


def _method(content, number):
    place = content.rindex(b"PK\x01\x02")
    return content[:8] + number + content[10 : place + 10] + number + content[place + 12 :]


def crafted():
    """Name and bytes of files that somebody made with intent."""
    good = io.BytesIO()
    np.save(good, np.ones((2, 3)))
    npy = good.getvalue()
    huge = _described(shape="(1000000000, 100000)")
    yield "shape of bools.npy", _header(_described(shape="(True, True)")) + bytes(64)
    yield "negative.npy", _header(_described(shape="(-1, 3)")) + bytes(64)
    yield "no literal.npy", _header("{'descr': '<f8', 'shape': " + "(" * 90 + ")" * 90) + bytes(64)
    yield "deep.npy", _header("(" * 3000) + bytes(64)
    yield "not a dictionary.npy", _header("[1, 2]") + bytes(64)
    yield "null bytes.npy", _header("\x00" * 80) + bytes(64)
    yield (
        "dtype of records.npy",
        _header(_described("[('a', '<f8')]")) + bytes(64),
    )
    yield "unknown dtype.npy", _header(_described("'q9'")) + bytes(64)
    yield "huge.npy", _header(huge) + bytes(64)
    yield (
        "huge number.npy",
        _header(_described(shape="(" + "9" * 6000 + ",)"), (2, 0)),
    )
    yield "version 9.npy", b"\x93NUMPY" + bytes((9, 9)) + npy[8:]
    yield "long header.npy", b"\x93NUMPY" + bytes((2, 0)) + (2**31).to_bytes(4, "little") + b"{"
    yield "encrypted.npz", _zip("scores.npy", npy, flags=b"\x01\x00")
    yield "unknown method.npz", _method(_zip("scores.npy", npy), b"\x63\x00")
    yield "huge inside.npz", _zip("scores.npy", _header(huge))
    yield "bomb.npz", _zip("scores.npy", _header(huge) + bytes(2**27), zipfile.ZIP_DEFLATED)
    yield "other member.npz", _zip("../../x.txt", b"hello")
    yield "no name.npz", _zip(".npy", npy)
    yield "empty.npz", _zip("scores.npy", b"")
    yield "giant integer.csv", b"example,prediction\na," + b"9" * 5000 + b"\n"
    yield "giant label.csv", b"example,label\na," + b"1" * 400 + b"\n"
    yield "large cell.csv", b"example,prediction\na," + b"x" * 20_000_000 + b"\n"
    yield "many columns.csv", ",".join(f"c{i}" for i in range(100_000)).encode() + b"\n"
    yield "null.csv", b"example,prediction\n\x00,\x00\n"
    yield "utf-16.csv", "example,prediction\na,1\n".encode("utf-16")
    yield "quotes.csv", b'example,prediction\n"a,1\n' * 2000
    yield "one line.csv", b"example,prediction"
    for name, column in (("nested", [[1, 2]] * 3), ("binary", [b"\xff\x00"] * 3), ("dictionary", [{"a": 1}] * 3)):
        buffer = io.BytesIO()
        pd.DataFrame({"example": list("abc"), "prediction": column}).to_parquet(buffer)
        yield f"{name}.parquet", buffer.getvalue()
    yield "footer only.parquet", b"PAR1" + bytes(20) + (12).to_bytes(4, "little") + b"PAR1"
    yield "long footer.parquet", b"PAR1" + bytes(20) + (2**31 - 1).to_bytes(4, "little") + b"PAR1"
    yield "deep.json", b"[" * 100_000
    yield "surrogates.json", json.dumps(["\ud800", "b", "c"]).encode()
    yield "numbers.json", b"[" + b"9" * 6000 + b"]"


def labels(folder):
    path = folder / "labels.csv"
    rows = "".join(f"e{i},{('cat', 'dog', 'owl')[i % CLASSES]}\n" for i in range(ROWS))
    path.write_text("example,label\n" + rows)
    return path


def problem(read):
    """What is wrong with the way in which reading ends; None if it is predictions or one line."""

    def late(*_):
        raise TimeoutError(f"more than {SECONDS} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        read()
    except InputError as error:
        return (
            None if len(str(error).splitlines()) == 1 and len(str(error)) < 2000 else f"no line: {str(error)[:200]!r}"
        )
    except BaseException:
        return traceback.format_exc().strip().splitlines()[-1][:300]
    finally:
        signal.alarm(0)
    return None


def main(first, last):
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    address_space = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (address_space + MEMORY + used, resource.RLIM_INFINITY))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        truth, answers = labels(folder), folder / "answers.csv"
        answers.write_text(truth.read_text().replace("label", "prediction"))
        chosen = list(crafted()) if first == 0 else []
        for title, content in chosen:
            path = folder / title
            path.write_bytes(content)
            if path.suffix == ".json":
                wrong = problem(lambda path=path: read_predictions(truth, [answers], classes=path))
            else:
                wrong = problem(lambda path=path: read_predictions(truth, [path])) or problem(
                    lambda path=path: read_predictions(path, [path])
                )
            if wrong:
                print(f"{title}: {wrong}", flush=True)
        for seed in range(first, last):
            rng = np.random.default_rng(seed)
            kind = ("csv", "parquet", "npy", "npz")[seed % 4]
            path = folder / f"{seed}.{kind}"
            path.write_bytes(mutated(valid(kind, rng), rng))
            if wrong := problem(lambda path=path: read_predictions(truth, [path])):
                print(f"seed {seed} ({kind}): {wrong}", flush=True)
            path.unlink()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
