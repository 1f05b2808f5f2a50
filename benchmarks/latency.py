"""Effect of compression on this machine: bytes, FLOPs and latency of LeNet and ResNet-20, dense, pruned and quantized.

    python benchmarks/latency.py [--repeats 50] [--sparsity 0.9]

Each row is compared with the dense float32 flatbuffer of the same network, timed in the same rounds, on one thread, in
batches of 1 and 32. Weights are random, since time does not depend on them; pruning zeroes single weights (by
magnitude), or blocks of four along the input channels, which TensorFlow Lite's sparse format stores best. `sparse`
stores kernels without their zeros (`quantize(..., sparse=True)`). Variants that LiteRT cannot run are listed instead of
measured. The machine should be idle.
"""

import argparse

import keras
import numpy as np
import pandas as pd

import tfaudit
from tfaudit.compress.litert.conversion_error import ConversionError
from tfaudit.extensions.costs.cost import measure_variants
from tfaudit.models.registry import build_model
from tfaudit.study.quantization import KINDS

VARIANTS = [
    *[("dense", kind, False) for kind in KINDS],
    *[
        ("pruned", kind, sparse)
        for kind in ("float32", "float16", "int8")
        for sparse in (False, True)
    ],
    *[("blocks", "float32", sparse) for sparse in (False, True)],
]
NETWORKS = {"lenet_r": (28, 28, 1), "resnet20": (32, 32, 3)}
COLUMNS = {
    "bytes": "bytes",
    "gzipped_bytes": "gzipped",
    "flops": "FLOPs",
    "effective_flops": "effective",
    "latency_1_ratio": "time, 1",
    "latency_32_ratio": "time, 32",
}


def zero_blocks(model: keras.Model, sparsity: float, block: int = 4) -> None:
    """Zero random blocks of weights along the input channels."""
    draws = np.random.default_rng(0)
    for weight in model.weights:
        if weight.name == "kernel" and weight.shape[-2] >= block:
            *sides, inputs, outputs = weight.shape
            keep = draws.random((*sides, -(-inputs // block), outputs)) >= sparsity
            weight.assign(weight.numpy() * keep.repeat(block, axis=-2)[..., :inputs, :])


def variants(network: str, sparsity: float) -> tuple[dict[str, bytes], list[str]]:
    """Return flatbuffers by name, the dense one first, and the reasons why others could not be made."""
    keras.utils.set_random_seed(0)
    models = {"dense": build_model(network, NETWORKS[network], 10)}
    for name in ("pruned", "blocks"):
        models[name] = keras.models.clone_model(models["dense"])
        models[name].set_weights(models["dense"].get_weights())
    tfaudit.prune(models["pruned"], sparsity)
    zero_blocks(models["blocks"], sparsity)
    images = np.random.default_rng(0).integers(0, 256, (100, *NETWORKS[network]), "uint8")
    flatbuffers, failures = {}, []
    for name, kind, sparse in VARIANTS:
        label = f"{name} {kind}{' sparse' * sparse}"
        try:
            flatbuffers[label] = tfaudit.quantize(
                models[name], kind, representative=images, sparse=sparse
            )
        except ConversionError as error:
            failures.append(f"{label}: {str(error).split(';')[0]}")
    return flatbuffers, failures


def ratios(table: pd.DataFrame) -> pd.DataFrame:
    """Return every figure divided by that of the first row."""
    figures = table.set_index("variant")[list(COLUMNS)]
    return (figures / figures.iloc[0]).rename(columns=COLUMNS)


def main() -> None:
    """Print a table per network."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--sparsity", type=float, default=0.9)
    options = parser.parse_args()
    for network in NETWORKS:
        flatbuffers, failures = variants(network, options.sparsity)
        table = measure_variants(flatbuffers, repeats=options.repeats)
        first = table.iloc[0]
        print(
            f"\n{network}, kernels {options.sparsity:.0%} zero, dense float32: {first['bytes']:,} bytes, "
            f"{first['flops'] / 1e6:.2f} MFLOPs, {first['latency_1_ms']:.3f} ms for one image, "
            f"{first['latency_32_ms']:.3f} ms for 32; ratios to it:"
        )
        print(ratios(table).to_string(float_format=lambda value: f"{value:.2f}"))
        print(*failures, sep="\n")


if __name__ == "__main__":
    main()
