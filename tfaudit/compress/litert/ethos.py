"""What a TensorFlow Lite file needs on an Arm Ethos-U, by Arm's compiler Vela."""

import dataclasses
import importlib
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

from tfaudit.audits.result import Result, without_nan
from tfaudit.errors import InputError, missing_extra, printable, require_one_of

ACCELERATORS = (
    *(f"ethos-u55-{macs}" for macs in (32, 64, 128, 256)),
    *(f"ethos-u65-{macs}" for macs in (256, 512)),
    *(f"ethos-u85-{macs}" for macs in (128, 256, 512, 1024, 2048)),
)
"""Names of the accelerators, with their multiply-accumulates per cycle."""

DEFAULT = "ethos-u55-256"
"""Accelerator that Vela itself takes by default."""

_VELA = "import sys; from ethosu.vela.vela import main; sys.exit(main(sys.argv[1:]))"
_COMMAND = (sys.executable, "-c", _VELA)
"""Vela's command `vela`, with the Python that runs tfaudit."""


@dataclasses.dataclass(frozen=True)
class EthosCost(Result):
    """Memory and cycles of a file on an Arm Ethos-U.

    Attributes:
        accelerator: name of the accelerator, one of `ACCELERATORS`.
        sram_kb, dram_kb, flash_kb: memory that one inference uses, KiB, with Vela's default memories; NaN if no
            operator runs on the NPU.
        npu_operators: number of operators that run on the NPU.
        cpu_operators: number of the other operators, which run on the CPU.
        cycles: cycles of the NPU for one inference.
        ms: their time at Vela's default clock, milliseconds.
    """

    accelerator: str
    sram_kb: float
    dram_kb: float
    flash_kb: float
    npu_operators: int
    cpu_operators: int
    cycles: int
    ms: float

    def frame(self) -> pd.DataFrame:
        """Return one row; its columns are the attributes and `npu_share`, the share of operators on the NPU."""
        return pd.DataFrame([self.summary()])

    def summary(self) -> dict[str, Any]:
        """Return the row as plain numbers, None for NaN."""
        share = self.npu_operators / max(1, self.npu_operators + self.cpu_operators)
        return without_nan({**dataclasses.asdict(self), "npu_share": share})


def ethos_cost(model: bytes | str | Path, *, accelerator: str = DEFAULT) -> EthosCost:
    """Return what a TensorFlow Lite file needs on an Arm Ethos-U, as Vela says.

    Vela compiles the file in a process of its own and writes these figures as CSV. Operators that the NPU does not
    have, such as those that compute in float, stay on the CPU: a full-integer file has none of the latter.

    Args:
        model: the bytes of a flatbuffer, or the path of a `.tflite` file.
        accelerator: name of the accelerator, one of `ACCELERATORS`.

    Raises:
        InputError: Vela is not installed (extra `ethos`) or cannot compile the file, or there is no such accelerator.
    """
    require_one_of("accelerator", accelerator, ACCELERATORS)
    try:
        importlib.import_module("ethosu")
    except ImportError as error:
        raise missing_extra(error, "ethos_cost") or error from None
    if isinstance(model, str | Path) and Path(model).suffix != ".tflite":
        raise InputError("model", repr(str(model)), "a .tflite file for an Ethos-U")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.tflite"
        file.write_bytes(model if isinstance(model, bytes) else Path(model).read_bytes())
        done = subprocess.run(
            [*_COMMAND, "--accelerator-config", accelerator, "--output-dir", folder, str(file)],
            capture_output=True,
            text=True,
            check=False,
        )
        tables = list(Path(folder).glob("*.csv"))
        if done.returncode or len(tables) != 1:
            reason = printable((done.stderr or done.stdout).strip().rpartition("\n")[2])
            raise InputError("model", f"a file that Vela refuses ({reason})", "a .tflite file")
        row = pd.read_csv(tables[0]).iloc[0]
    operators = dict(re.findall(r"^(CPU|NPU) operators = (\d+)", done.stdout, re.M))
    npu = int(operators.get("NPU", 0))

    def memory(*kinds: str) -> float:
        return sum(float(row[f"{kind}_memory_used"]) for kind in kinds) if npu else math.nan

    return EthosCost(
        accelerator=accelerator,
        sram_kb=memory("sram"),
        dram_kb=memory("dram"),
        flash_kb=memory("on_chip_flash", "off_chip_flash"),
        npu_operators=npu,
        cpu_operators=int(operators.get("CPU", 0)),
        cycles=int(row["cycles_total"]),
        ms=1000 * float(row["inference_time"]),
    )
