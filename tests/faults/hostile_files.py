"""Reads hostile files, one per seed: `python -m tests.faults.hostile_files FIRST LAST`.

Every kind of file that somebody else may hand to tfaudit: damaged at random, and made with intent. Prints a line per
trial that ends otherwise than in a result or in one clear line (the seed, the file, what is wrong), and last a table
of the trials. A process of its own, because a damaged file may crash a library that reads it, or ask for all
the memory: the seeds tell which.
"""

import contextlib
import dataclasses
import functools
import gzip
import io
import json
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from tests.builders.flatbuffers import dense_flatbuffer
from tests.builders.studies import make_study
from tests.builders.trials import Tally, command, ending, limit_memory
from tfaudit.cli.gate_limits import read_limits
from tfaudit.compress.litert.flatbuffer_contents import read_flatbuffer
from tfaudit.compress.litert.inference import predict
from tfaudit.datasets.idx import read_idx
from tfaudit.datasets.image_files import open_image
from tfaudit.datasets.image_folder import image_folder_files
from tfaudit.datasets.labelled_images import labelled_images
from tfaudit.outlets import html
from tfaudit.readers.prediction_files import read_predictions
from tfaudit.store.members import sealed_json

ROWS, CLASSES = 12, 3
NAMES = ("cat", "dog", "owl")
WORDS = [
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
    b"[[[",
]
TOML = b'[gate]\noverall_drop_pp = 1.5\nworst_class_drop_pp = 4\n[other]\nname = "x"\ndates = [1979-05-27, 2]\n'


@dataclasses.dataclass(frozen=True)
class Kind:
    """Files of one kind: `valid` bytes, and `read`, which returns how reading such a file ended."""

    suffix: str
    valid: Callable[[], bytes]
    read: Callable[[Path], object]


class Place:
    """A folder with what the readers need beside the hostile file."""

    def __init__(self, folder):
        self.folder = folder
        self.truth, self.answers = folder / "labels.csv", folder / "answers.csv"
        rows = "".join(f"e{i},{NAMES[i % CLASSES]}\n" for i in range(ROWS))
        self.truth.write_text("example,label\n" + rows)
        self.answers.write_text("example,prediction\n" + rows)
        self.study = folder / "study"
        make_study(self.study, members=2)
        command("audit", self.study, "--permutations", 0)
        html.write_report = lambda *_, **__: (
            "report.html"
        )  # which takes seconds, and shows what is there by then

    def kinds(self):
        names = self.folder / "names.json"
        names.write_text(json.dumps(NAMES))
        plain = self.folder / "labels.npy"
        np.save(plain, np.arange(ROWS) % CLASSES)

        def predictions(path):
            truth = self.truth if path.suffix in (".csv", ".parquet") else plain
            return ending(lambda: read_predictions(truth, [path], classes=names).top1)

        def both(path):
            labels = self.as_labels(path)
            return labels if labels.defect else predictions(path)

        pictures = {"png": "PNG", "jpg": "JPEG", "tif": "TIFF", "gif": "GIF", "webp": "WEBP"}
        return {
            "csv": Kind("csv", lambda: _table().to_csv(index=False).encode(), both),
            "parquet": Kind("parquet", lambda: _written(_table().to_parquet), both),
            "npy": Kind("npy", lambda: _written(lambda file: np.save(file, _scores())), both),
            "npz": Kind(
                "npz", lambda: _written(lambda file: np.savez(file, scores=_scores())), both
            ),
            "classes": Kind("json", lambda: json.dumps(NAMES).encode(), self.as_classes),
            "toml": Kind("toml", lambda: TOML, reading(read_limits)),
            "images.npz": Kind("npz", _images, reading(_first)),
            **{
                suffix: Kind(suffix, functools.partial(_picture, kind), reading(_pixels))
                for suffix, kind in pictures.items()
            },
            "idx": Kind("gz", _idx, reading(lambda path: read_idx(path, 3))),
            "tflite": Kind("tflite", dense_flatbuffer, _flatbuffer),
            "keras": Kind("keras", _keras, _model),
            "keras.json": Kind(
                "keras", lambda: _part(CONFIG), lambda path: _model(_with_part(path, CONFIG))
            ),
            "keras weights": Kind(
                "keras", lambda: _part(WEIGHTS), lambda path: _model(_with_part(path, WEIGHTS))
            ),
            "groups": Kind("csv", _groups, lambda path: self.report("--groups", path)),
            "answers": Kind("csv", _answers, lambda path: self.report("--answers", path)),
            "study.json": Kind(
                "json",
                lambda: self.unsealed("study.json"),
                lambda path: self.in_study(path, "study.json"),
            ),
            "member.json": Kind(
                "json", lambda: self.unsealed(RECORD), lambda path: self.in_study(path, RECORD)
            ),
        }

    def report(self, *options):
        return command("report", self.study, *options)

    def as_labels(self, path):
        return ending(lambda: read_predictions(path, [self.answers]))

    def as_classes(self, path):
        return ending(lambda: read_predictions(self.truth, [self.answers], classes=path))

    def unsealed(self, name):
        """A file of the study without its checksum, which `in_study` adds again."""
        content = json.loads((self.study / name).read_text())
        del content["sha256"]
        return json.dumps(content, indent=1).encode()

    def in_study(self, path, name):
        """How commands end that read the study with this file in it."""
        target = self.study / name
        before = target.read_bytes()
        target.write_bytes(resealed(path.read_bytes()))
        try:
            for words in (("check",), ("gate",), ("audit", "--permutations", 0)):
                end = command(words[0], self.study, *words[1:])
                if end.defect:
                    return end._replace(defect=f"{words[0]}: {end.defect}")
            return end
        finally:
            target.write_bytes(before)


RECORD = "members/int8/001/member.json"


def resealed(content):
    """A changed file with the checksum of what it holds, so that more than the checksum is tried."""
    with contextlib.suppress(ValueError, RecursionError):
        if isinstance(fields := json.loads(content), dict):
            return sealed_json(fields)
    return content


def reading(read):
    """Return a function that tells how a reader ends with a file."""
    return lambda path: ending(lambda: read(path))


def _scores():
    return np.random.default_rng(0).dirichlet(np.ones(CLASSES), ROWS)


def _table():
    return pd.DataFrame(_scores(), columns=NAMES).assign(example=[f"e{i}" for i in range(ROWS)])


def _written(write):
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def _images():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (ROWS, 4, 4, 1), np.uint8)
    return _written(
        lambda file: np.savez_compressed(file, images=images, labels=np.arange(ROWS) % 3)
    )


def _first(path):
    images = labelled_images(str(path))
    return next(iter(images.batches(4))).sum(), images.labels.tolist()


def _picture(kind, side=16):
    pixels = np.random.default_rng(0).integers(0, 256, (side, side, 3), np.uint8)
    return _written(lambda file: Image.fromarray(pixels).save(file, kind))


def _pixels(path):
    with open_image(path) as image:
        return np.asarray(image.convert("RGB")).sum()


def _idx():
    header = bytes([0, 0, 8, 3]) + b"".join(side.to_bytes(4, "big") for side in (5, 4, 4))
    return gzip.compress(header + bytes(range(80)), mtime=0)


def _flatbuffer(path):
    contents = ending(lambda: read_flatbuffer(path.read_bytes()))
    ran = ending(
        lambda: predict(path, np.ones((3, 2, 2, 1), np.float32), threads=1).classes.tolist()
    )
    return contents if contents.defect else ran


CONFIG, WEIGHTS = "config.json", "model.weights.h5"


@functools.cache
def _keras():
    """The file of a trained and compiled model."""
    import keras

    layers = [keras.layers.Conv2D(2, 2), keras.layers.BatchNormalization(), keras.layers.Flatten()]
    model = keras.Sequential([keras.Input((3, 3, 1)), *layers, keras.layers.Dense(CLASSES)])
    model.compile("adam", "mse")
    model.fit(np.ones((4, 3, 3, 1)), np.ones((4, CLASSES)), verbose=0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.keras")
        model.save(path)
        return path.read_bytes()


def _part(name):
    """A file of the archive."""
    with zipfile.ZipFile(io.BytesIO(_keras())) as archive:
        return archive.read(name)


def _with_part(path, name):
    """Make a path that holds one file of the archive the whole archive."""
    content = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(_keras())) as whole, zipfile.ZipFile(path, "w") as archive:
        for member in whole.namelist():
            archive.writestr(member, content if member == name else whole.read(member))
    return path


def _model(path):
    images = np.ones((3, 3, 3, 1), np.float32)
    return ending(lambda: predict(path, images).classes.tolist())


def _groups(writer=None):
    rows = (b"test-%d,%s\n" % (i, writer or b"w%d" % (i % 3)) for i in range(200))
    return b"example,writer\n" + b"".join(rows)


def _answers():
    rows = b"".join(b"ann,test-%d,%d" % (i, i % 2) + b",1" * 6 + b"\n" for i in range(20))
    return (
        b"rater,example,is_pie,accurate_label,single_object,corrupted,fine_grained,abstract,typical\n"
        + rows
    )


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
            data[place : place + 3] = WORDS[rng.integers(len(WORDS))]
    return bytes(data)


VALUES = (
    None,
    -1,
    0,
    1.5,
    1e400,
    10**5000,
    "",
    "x" * 300,
    "\ud800",
    "../../x",
    "\x1b[31m",
    [],
    [[]],
    {},
    {"a": 1},
    True,
)
"""What a value of a JSON file may be replaced by."""


def revalued(content, rng):
    """JSON with a value replaced by another, and perhaps a key lost."""
    tree = json.loads(content)
    for _ in range(rng.integers(1, 3)):
        node = tree
        while True:
            keys = list(node) if isinstance(node, dict) else range(len(node))
            if not keys:
                break
            key = keys[int(rng.integers(len(keys)))]
            if isinstance(node[key], dict | list) and node[key] and rng.random() < 0.7:
                node = node[key]
                continue
            if rng.random() < 0.1:
                del node[key]
            else:
                node[key] = VALUES[int(rng.integers(len(VALUES)))]
            break
    sys.set_int_max_str_digits(0)
    text = json.dumps(tree)
    sys.set_int_max_str_digits(4300)
    return text.encode()


def _described(descr="'<f8'", shape="(2,)"):
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"


def _header(text, version=(1, 0)):
    body = text.encode()
    return (
        b"\x93NUMPY"
        + bytes(version)
        + len(body).to_bytes(2 if version == (1, 0) else 4, "little")
        + body
    )


def _npy(text):
    return _header(text) + bytes(64)


def _zip(member, content, method=zipfile.ZIP_STORED, flags=None, zeros=0):
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", method) as archive,
        archive.open(member, "w", force_zip64=False) as file,
    ):
        file.write(content)
        _write_zeros(file, zeros)
    data = buffer.getvalue()
    if flags is not None:  # of the local header and of the directory
        place = data.rindex(b"PK\x01\x02")
        data = data[:6] + flags + data[8 : place + 8] + flags + data[place + 10 :]
    return data


def _write_zeros(file, count):
    for start in range(0, count, 2**20):
        file.write(bytes(min(2**20, count - start)))


def _gzip_bomb():
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="w", compresslevel=1) as file:
        file.write(bytes([0, 0, 8, 3]))
        _write_zeros(file, 2**31)
    return buffer.getvalue()


def _method(content, number):
    place = content.rindex(b"PK\x01\x02")
    return content[:8] + number + content[10 : place + 10] + number + content[place + 12 :]


def crafted():
    """Kind, name and bytes of files that somebody made with intent."""
    npy = _written(lambda file: np.save(file, np.ones((2, 3))))
    huge = _described(shape="(1000000000, 100000)")
    zeros = _header(_described("'|u1'", shape="(1, 900000000)"))
    deflated = zipfile.ZIP_DEFLATED
    archives = {
        "encrypted": _zip("scores.npy", npy, flags=b"\x01\x00"),
        "unknown method": _method(_zip("scores.npy", npy), b"\x63\x00"),
        "huge inside": _zip("scores.npy", _header(huge)),
        "bomb": _zip("scores.npy", _header(huge), deflated, zeros=2**27),
        "bomb of a shape": _zip("scores.npy", zeros, deflated, zeros=900_000_000),
        "other member": _zip("../../x.txt", b"hello"),
        "no name": _zip(".npy", npy),
        "empty": _zip("scores.npy", b""),
    }
    columns = {
        "nested": [[1, 2]] * 3,
        "binary": [b"\xff\x00"] * 3,
        "dictionary": [{"a": 1}] * 3,
    }
    tables = {
        name: pd.DataFrame({"example": list("abc"), "prediction": column})
        for name, column in columns.items()
    }
    documents = {
        "deep": b"[" * 100_000,
        "surrogates": json.dumps(["\ud800", "b", "c"]).encode(),
        "numbers": b"[" + b"9" * 6000 + b"]",
        "deep object": b'{"a":' * 100_000,
        "surrogate key": b'{"study": "\\ud800", "format": 1, "status": "failed", "traceback": "\\ud800"}',
        "infinity": b'{"format": Infinity, "study": NaN}',
    }
    names = {
        "no utf-8": (b"\xff\xfe", b"\xff", b"\xff", b"\xfe"),
        "escape": (b"\x1b[31m", b"k", b"b", b"\x1b]0;x\x07"),
        "empty names": (b"", b"", b"", b""),
    }
    head = b"example,prediction\n"
    many_rows = head + b"a,1\n" * 2_000_000
    files = {
        "npy": {
            "shape of bools": _npy(_described(shape="(True, True)")),
            "negative": _npy(_described(shape="(-1, 3)")),
            "no literal": _npy("{'descr': '<f8', 'shape': " + "(" * 90 + ")" * 90),
            "deep": _npy("(" * 3000),
            "not a dictionary": _npy("[1, 2]"),
            "null bytes": _npy("\x00" * 80),
            "dtype of records": _npy(_described("[('a', '<f8')]")),
            "unknown dtype": _npy(_described("'q9'")),
            "huge": _npy(huge),
            "huge number": _header(_described(shape="(" + "9" * 6000 + ",)"), (2, 0)),
            "version 9": b"\x93NUMPY" + bytes((9, 9)) + npy[8:],
            "long header": b"\x93NUMPY" + bytes((2, 0)) + (2**31).to_bytes(4, "little") + b"{",
        },
        "npz": archives,
        "images.npz": {
            name: content.replace(b"scores.npy", b"images.npy")
            for name, content in archives.items()
        },
        "csv": {
            "giant integer": head + b"a," + b"9" * 5000 + b"\n",
            "giant label": b"example,label\na," + b"1" * 400 + b"\n",
            "large cell": head + b"a," + b"x" * 20_000_000 + b"\n",
            "one long cell in many": many_rows + b"a," + b"x" * 900 + b"\n",
            "many columns": ",".join(f"c{i}" for i in range(100_000)).encode() + b"\n",
            "null": head + b"\x00,\x00\n",
            "utf-16": "example,prediction\na,1\n".encode("utf-16"),
            "quotes": head + b'"a,1\n' * 2000,
            "one line": b"example,prediction",
            "escape": b"example,\x1b[31mcat,dog\na,1,2\n",
        },
        "parquet": {
            **{name: _written(table.to_parquet) for name, table in tables.items()},
            "footer only": b"PAR1" + bytes(20) + (12).to_bytes(4, "little") + b"PAR1",
            "long footer": b"PAR1" + bytes(20) + (2**31 - 1).to_bytes(4, "little") + b"PAR1",
        },
        **dict.fromkeys(("classes", "study.json", "member.json"), documents),
        "toml": {
            "deep": b"gate = " + b"[" * 100_000,
            "deep tables": b"[" + b"a." * 50_000 + b"a]\n",
            "giant integer": b"[gate]\noverall_drop_pp = " + b"9" * 6000,
            "many lines": b"[gate]\n" + b"x = \n" * 3,
            "nan": b"[gate]\noverall_drop_pp = nan\n",
            "list": b"[gate]\noverall_drop_pp = [1]\n",
        },
        "png": {
            "eps": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
            "bomb": _bomb(),
        },
        "idx": {
            "bomb": _gzip_bomb(),
            "huge": gzip.compress(bytes([0, 0, 8, 3]) + b"\xff" * 12),
        },
        "tflite": {name: dense_flatbuffer(given) for name, given in names.items()},
        "groups": {"no text": _groups(b"\xff"), "large numbers": _groups(b"1e999")},
    }
    for kind, contents in files.items():
        for name, content in contents.items():
            yield kind, name, content


def _bomb(side=40_000):
    """A small PNG of 1.6 billion pixels."""
    import struct
    import zlib

    def chunk(name, content):
        return (
            struct.pack(">I", len(content))
            + name
            + content
            + struct.pack(">I", zlib.crc32(name + content))
        )

    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    packer = zlib.compressobj()
    rows = b"".join(packer.compress(bytes(side // 8 + 1)) for _ in range(side)) + packer.flush()
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )


def folders(place):
    """Yield name and ending of reading folders of images whose names are no text, and of what is no file."""
    root = place.folder / "images"
    for inside in (b"\xff", b"cat\x1b[31m", "é".encode()):
        for c, name in enumerate((inside, b"dog")):
            folder = Path(os.fsdecode(os.fsencode(root) + b"-%d/" % len(inside) + name))
            folder.mkdir(parents=True)
            for i in range(6):
                (folder / os.fsdecode(b"%d" % i + inside * (c == 0) + b".png")).write_bytes(
                    _picture("PNG")
                )
        given = folder.parent
        yield f"folder {inside!r}", ending(lambda given=given: _first_of_folder(given))
        yield f"prepare {inside!r}", ending(lambda given=given: _prepared(given))
    (given / "dog" / "bomb.png").write_bytes(_bomb())
    yield "prepare a bomb", ending(lambda: _prepared(given))
    (given / "dog" / "bomb.png").unlink()
    os.mkfifo(given / "dog" / "pipe.png")
    yield "prepare a pipe", ending(lambda: _prepared(given))
    yield "a pipe", ending(lambda: _first_of_folder(given))
    for suffix in ("csv", "parquet", "npy", "npz", "toml", "keras", "tflite"):
        pipe = place.folder / f"pipe.{suffix}"
        os.mkfifo(pipe)
        yield f"labels from pipe.{suffix}", place.as_labels(pipe)
        yield f"limits from pipe.{suffix}", ending(lambda pipe=pipe: read_limits(pipe))
        yield f"images from pipe.{suffix}", ending(lambda pipe=pipe: _first(pipe))
        yield f"a model from pipe.{suffix}", _model(pipe)


def _first_of_folder(root):
    images = labelled_images(str(root), image_size=4)
    return [batch.sum() for batch in images.batches(4)], [
        str(example).encode() for example in images.example_ids
    ]


def _prepared(root):
    content = image_folder_files(root)
    return [list(examples) for examples in content.splits.values()]


def made_by_hand(place, kinds):
    """How reading each crafted file and folder ends, by label."""
    for title, label, content in crafted():
        path = place.folder / f"{label}.{kinds[title].suffix}"
        path.write_bytes(content)
        yield f"{label}, {title}", kinds[title].read(path)
        path.unlink()
    yield from folders(place)


def of_seed(place, kinds, seed):
    """A label, and how reading the file ends that a seed changes."""
    rng, title = np.random.default_rng(seed), sorted(kinds)[seed % len(kinds)]
    change = revalued if title.endswith("json") and seed % 5 else mutated
    path = place.folder / f"{seed}.{kinds[title].suffix}"
    path.write_bytes(change(kinds[title].valid(), rng))
    end = kinds[title].read(path)
    path.unlink()
    return f"seed {seed}, {title}", end


def main(first, last):
    tally = Tally("hostile files")
    with tempfile.TemporaryDirectory() as name:
        place = Place(Path(name))
        kinds = place.kinds()
        for title, kind in kinds.items():  # imports what they import, too
            path = place.folder / f"valid.{kind.suffix}"
            path.write_bytes(kind.valid())
            end = kind.read(path)
            if end.is_line or end.defect:
                tally.add(title, end, end.defect or f"refused: {end.text}")
        if first == 0:
            import sklearn.model_selection
            import tensorflow_datasets

            assert sklearn.model_selection
            assert tensorflow_datasets.features.Image
        limit_memory()
        for label, end in made_by_hand(place, kinds) if first == 0 else ():
            tally.add(label, end)
        for seed in range(first, last):
            tally.add(*of_seed(place, kinds, seed))
    print(tally)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
