"""Make the example study of the package: `python -m benchmarks.example_study runs/cifar10_pretrained`.

Writes `tfaudit/cli/examples/NAME.zip`, which `tfaudit view --example` unpacks: some variants of a finished study,
without models, as `save_small_copy` writes them. The same study gives the same bytes.
"""

import sys
import tempfile
import zipfile
from pathlib import Path

from benchmarks.small_copy import save_small_copy
from tfaudit.store.store import open_store

EXAMPLES = Path(__file__).parents[1] / "tfaudit/cli/examples"
SPARSITIES = (0.3, 0.5)
VARIANTS = (
    *(f"magnitude-{sparsity}-treatment=one_shot-unpruned_layers=logits" for sparsity in SPARSITIES),
    *("float16", "dynamic_range", "int8"),
)


def main(directory: str) -> None:
    """Pack a study under its name."""
    store = open_store(directory)
    target = EXAMPLES / f"{store.study.name}.zip"
    with tempfile.TemporaryDirectory() as work:
        save_small_copy(store, Path(work) / "copy", variants=VARIANTS)
        files = sorted(path for path in Path(work, "copy").rglob("*") if path.is_file())
        with zipfile.ZipFile(target, "w") as archive:
            for path in files:  # `ZipInfo` alone has a fixed time
                name = path.relative_to(Path(work, "copy")).as_posix()
                archive.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    print(f"{target}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1])
