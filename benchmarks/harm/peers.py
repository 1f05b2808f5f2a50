"""Compressors of other makers in the benchmark of compression harm: ResNet-56 on CIFAR-10.

    pip install "tfaudit[keras,datasets]" nncf openvino onnx onnxruntime onnxscript model-compression-toolkit
    pip install torch torchvision torch-optim==0.0.3
    pip download --no-deps -d ~/tensorflow_datasets torch-optim==0.0.3
    python -m benchmarks.harm.peers peers results.json

Each gets the published network in PyTorch and the first 100 training images to calibrate with, as `tfaudit run` gives
them to its own, and keeps its default settings. The scores of all test images, float and compressed, go to the folder
`peers` and by `python -m benchmarks.harm submit` to `results.json`.

Sizes are those of the gzipped files, as shares of the float network's in ONNX. MCT writes no smaller file; its bytes
are those that it reckons for the weights.
"""

import argparse
import functools
import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import tfaudit
from benchmarks.compress_peers import (
    batches,
    calibration_batches,
    torch_images,
    torch_resnet56,
    torch_scores,
)

CALIBRATION_IMAGES = 100
FLOAT = "float.onnx"
"""Name of the file with the float network, in the folder of results."""

Scores = Callable[[np.ndarray], np.ndarray]
"""Function from images to the scores of a compressed network."""

Compressed = tuple[int, Scores]
"""The bytes of a compressed network, and its scores."""


def write_onnx(network: Any, path: Path) -> None:
    """Write the float network as ONNX, for batches of any size."""
    example = torch_images(np.zeros((2, 32, 32, 3), np.uint8))
    torch.onnx.export(
        network,
        (example,),
        path,
        input_names=["images"],
        dynamic_shapes=[{0: torch.export.Dim("batch")}],
        external_data=False,
        verbose=False,
    )


def of_onnx(path: Path) -> Scores:
    """Return the scores of an ONNX file in ONNX Runtime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda images: np.concatenate(
        [session.run(None, {"images": torch_images(part).numpy()})[0] for part in batches(images)]
    )


def with_nncf(_network: Any, images: np.ndarray, folder: Path) -> Compressed:
    """Quantize with NNCF for OpenVINO."""
    os.environ["CI"] = "true"  # no telemetry: its forks hang beside TensorFlow
    import nncf
    import openvino

    model = openvino.convert_model(folder / FLOAT)
    calibration = nncf.Dataset([torch_images(image[None]).numpy() for image in images])
    made = nncf.quantize(model, calibration, subset_size=len(images))
    openvino.save_model(made, folder / "nncf.xml")
    compiled = openvino.compile_model(made, "CPU", {"INFERENCE_NUM_THREADS": 1})
    size = gzipped(folder / "nncf.xml") + gzipped(folder / "nncf.bin")
    return size, lambda images: np.concatenate(
        [compiled(torch_images(part).numpy())[0] for part in batches(images)]
    )


def with_onnx_runtime(_network: Any, images: np.ndarray, folder: Path) -> Compressed:
    """Quantize with ONNX Runtime, weights by channel."""
    from onnxruntime.quantization import CalibrationDataReader, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            self._images = iter(images)

        def get_next(self) -> dict[str, np.ndarray] | None:
            image = next(self._images, None)
            return None if image is None else {"images": torch_images(image[None]).numpy()}

    prepared, made = folder / "prepared.onnx", folder / "onnx_runtime.onnx"
    quant_pre_process(folder / FLOAT, prepared)
    quantize_static(prepared, made, Reader(), per_channel=True)
    return gzipped(made), of_onnx(made)


def with_mct(network: Any, images: np.ndarray, _folder: Path, bits: float = 8) -> Compressed:
    """Quantize with MCT, activations to 8 bits and weights to a mean number of bits."""
    import model_compression_toolkit as mct

    calibration = calibration_batches(images)
    size = mct.core.pytorch_resource_utilization_data(network, calibration).weights_memory
    target = mct.core.ResourceUtilization(weights_memory=size * bits / 8)
    made, told = mct.ptq.pytorch_post_training_quantization(network, calibration, target)
    reached = told.final_resource_utilization.weights_memory
    return round(reached), lambda images: torch_scores(made, images)


COMPRESSORS = {
    "NNCF int8": with_nncf,
    "ONNX Runtime int8": with_onnx_runtime,
    "MCT int8": with_mct,
    "MCT mixed, 4 bits": functools.partial(with_mct, bits=4),
}


def gzipped(path: Path) -> int:
    """Return the gzipped bytes of a file."""
    return len(gzip.compress(path.read_bytes(), 6))


def main() -> None:
    """Compress with each, and add what it costs to the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--compressors", nargs="+", choices=COMPRESSORS, default=list(COMPRESSORS))
    options = parser.parse_args()
    folder, results = options.folder, options.results
    folder.mkdir(parents=True, exist_ok=True)
    network = torch_resnet56()
    calibration = tfaudit.load_dataset("cifar10", "train").take(CALIBRATION_IMAGES).images
    test = tfaudit.load_dataset("cifar10", "test")
    np.save(folder / "labels.npy", test.labels)
    np.save(folder / "float.npy", torch_scores(network, test.images))
    (folder / "classes.txt").write_text("\n".join(test.class_names))
    write_onnx(network, folder / FLOAT)
    size = gzipped(folder / FLOAT)
    words = [sys.executable, "-m", "benchmarks.harm", "submit", str(results)]
    words += ["--model", "resnet56", "--data-name", "cifar10", "--scores-are", "logits"]
    words += ["--command", f"python -m benchmarks.harm.peers {folder.name} {results.name}"]
    words += ["--labels", str(folder / "labels.npy"), "--baseline", str(folder / "float.npy")]
    words += ["--classes", str(folder / "classes.txt")]
    for name in options.compressors:
        compressed, scores = COMPRESSORS[name](network, calibration, folder)
        path = folder / f"{name}.npy"
        np.save(path, scores(test.images))
        share = compressed / size
        more = ["--compressed", f"{name}={path}", "--size", f"{name}={share:.6f}"]
        subprocess.run([*words, *more], check=True)


if __name__ == "__main__":
    main()
