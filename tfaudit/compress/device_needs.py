"""What a file takes on a device, as far as limits of a gate need it."""

from pathlib import Path

from tfaudit.audits.gate.limits import DEVICE, NPU, Limits
from tfaudit.compress.model_files import open_model


def device_needs(
    model: bytes | str | Path | None, limits: Limits, signature: str | None = None
) -> dict[str, float]:
    """Return the latency on this machine, and SRAM and flash on an Arm Ethos-U, of a model's file.

    Nothing is measured that no limit needs, nor for a model whose file is unknown.

    Args:
        model: bytes of a flatbuffer, or path of a file; None if it is unknown.
        limits: limits of a gate.
        signature: name of the signature whose latency is measured if a flatbuffer has several.

    Raises:
        InputError: LiteRT or Vela cannot read the file, or Vela is not installed.

    >>> device_needs(b"TFL3", Limits(size_bytes=1000))
    {}
    """
    limited = DEVICE & limits.as_dict().keys()
    needs = {}
    if model is not None and "latency_ms" in limited:
        from tfaudit.compress.litert.latency import latencies

        needs["latency_ms"] = float(
            latencies({"file": open_model(model, signature)}, batches=[1])["latency_ms"][0]
        )
    if model is not None and limited & NPU:
        from tfaudit.compress.litert.ethos import ethos_cost

        memory = ethos_cost(model)
        needs |= {"sram_kb": memory.sram_kb, "flash_kb": memory.flash_kb}
    return needs
