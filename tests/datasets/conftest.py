"""Fixtures of the data set tests."""

import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

WriteIdx = Callable[..., None]


@pytest.fixture(autouse=True)
def data_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of prepared data sets, empty for every test."""
    folder = tmp_path / "tfds"
    monkeypatch.setenv("TFDS_DATA_DIR", str(folder))
    return folder


@pytest.fixture
def write_idx() -> WriteIdx:
    """Writes an array as an IDX file, gzipped where the name says so: an encoder of the tests' own."""

    def write(path: Path, array: np.ndarray, code: int = 8, dtype: str = "u1") -> None:
        header = struct.pack(f">HBB{array.ndim}I", 0, code, array.ndim, *array.shape)
        content = header + array.astype(dtype).tobytes()
        path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)

    return write


@pytest.fixture
def small_mnist(tmp_path: Path, write_idx: WriteIdx) -> Path:
    """A folder of the four IDX files with 30 and 12 images, half of them gzipped."""
    folder = tmp_path / "idx"
    folder.mkdir()
    random = np.random.default_rng(0)
    for stem, count, end in (("train", 30, ".gz"), ("t10k", 12, "")):
        write_idx(
            folder / f"{stem}-images-idx3-ubyte{end}", random.integers(0, 256, (count, 28, 28))
        )
        write_idx(folder / f"{stem}-labels-idx1-ubyte{end}", np.arange(count) % 10)
    return folder


@pytest.fixture
def small_cifar(tmp_path: Path) -> Path:
    """A folder of CIFAR-10's binary version with 4 records a file; record i is of class i, plane p holds p."""
    folder = tmp_path / "cifar"
    folder.mkdir()
    planes = np.repeat(np.arange(3, dtype=np.uint8), 1024)
    for name in (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"):
        (folder / name).write_bytes(b"".join(bytes([i]) + planes.tobytes() for i in range(4)))
    names = "airplane automobile bird cat deer dog frog horse ship truck"
    (folder / "batches.meta.txt").write_text("\n".join([*names.split(), "", ""]))
    return folder


@pytest.fixture
def write_metadata(data_sets: Path) -> Callable[..., None]:
    """Writes the metadata of a prepared data set without its examples, which `tfds.testing.mock_data` provides."""
    import tensorflow_datasets as tfds

    def write(name: str, **splits: int) -> None:
        builder = tfds.builder(name, data_dir=data_sets)
        infos = [
            tfds.core.SplitInfo(
                name=split,
                shard_lengths=[count],
                num_bytes=1,
                filename_template=tfds.core.ShardedFileTemplate(
                    data_dir=builder.data_path,
                    dataset_name=builder.name,
                    split=split,
                    filetype_suffix="tfrecord",
                ),
            )
            for split, count in splits.items()
        ]
        builder.info.set_splits(tfds.core.splits.SplitDict(infos))
        Path(builder.data_dir).mkdir(parents=True)
        builder.info.write_to_directory(builder.data_dir)

    return write
