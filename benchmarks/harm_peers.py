"""Compressors of other makers in the benchmark of compression harm: ResNet-56 on CIFAR-10.

    pip install "tfaudit[keras]" nncf openvino onnx onnxruntime onnxscript model-compression-toolkit torch torchvision
    pip install torch-optim==0.0.3
    pip download --no-deps -d ~/tensorflow_datasets torch-optim==0.0.3
    python -m benchmarks.harm_peers peers results.json

Each gets the published network in PyTorch and the first 100 training images to calibrate with, as `tfaudit run` gives
them to its own, and keeps its default settings. The scores of all test images, float and compressed, go to the folder
`peers` and by `tfaudit benchmark submit` to `results.json`.

Sizes are those of the gzipped files. MCT writes no file with fewer bits: its file has floats that take few values,
which gzip packs almost as well.
"""

import gzip
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import tfaudit
from benchmarks.compress_peers import batches, torch_images, torch_resnet56, torch_scores

CALIBRATION_IMAGES = 100

Scores = Callable[[np.ndarray], np.ndarray]
"""Function from images to the scores of a compressed network."""


def float_onnx(network: Any, path: Path) -> Path:
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
    return path


def of_onnx(path: Path) -> Scores:
    """Return the scores of an ONNX file in ONNX Runtime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda images: np.concatenate(
        [session.run(None, {"images": torch_images(part).numpy()})[0] for part in batches(images)]
    )


def with_nncf(network: Any, images: np.ndarray, folder: Path) -> tuple[list[Path], Scores]:
    """Quantize with NNCF for OpenVINO."""
    os.environ["CI"] = "true"  # no telemetry: its forks hang beside TensorFlow
    import nncf
    import openvino

    model = openvino.convert_model(float_onnx(network, folder / "float.onnx"))
    calibration = nncf.Dataset([torch_images(image[None]).numpy() for image in images])
    made = nncf.quantize(model, calibration, subset_size=len(images))
    openvino.save_model(made, folder / "nncf.xml")
    compiled = openvino.compile_model(made, "CPU", {"INFERENCE_NUM_THREADS": 1})
    return [folder / "nncf.xml", folder / "nncf.bin"], lambda images: np.concatenate(
        [compiled(torch_images(part).numpy())[0] for part in batches(images)]
    )


def with_onnx_runtime(network: Any, images: np.ndarray, folder: Path) -> tuple[list[Path], Scores]:
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
    quant_pre_process(float_onnx(network, folder / "float.onnx"), prepared)
    quantize_static(prepared, made, Reader(), per_channel=True)
    return [made], of_onnx(made)


def with_mct(bits: float) -> Callable[[Any, np.ndarray, Path], tuple[list[Path], Scores]]:
    """Return what quantizes with MCT to a mean number of bits a weight; activations have 8."""

    def compress(network: Any, images: np.ndarray, folder: Path) -> tuple[list[Path], Scores]:
        import model_compression_toolkit as mct

        def calibration() -> Iterable[list[Any]]:
            for part in batches(images):
                yield [torch_images(part)]

        eight = mct.core.pytorch_resource_utilization_data(network, calibration).weights_memory
        target = mct.core.ResourceUtilization(weights_memory=eight * bits / 8)
        made, told = mct.ptq.pytorch_post_training_quantization(network, calibration, target)
        reached = told.final_resource_utilization.weights_memory
        print(f"MCT: {reached:,.0f} bytes of weights", flush=True)
        path = folder / f"mct_{bits}.onnx"
        mct.exporter.pytorch_export_model(
            made,
            str(path),
            calibration,
            quantization_format=mct.exporter.QuantizationFormat.FAKELY_QUANT,
        )
        return [path], lambda images: torch_scores(made, images)

    return compress


COMPRESSORS = {
    "NNCF int8": with_nncf,
    "ONNX Runtime int8": with_onnx_runtime,
    "MCT 8 bits": with_mct(8),
    "MCT mixed, 4 bits": with_mct(4),
}


def gzipped(paths: Iterable[Path]) -> int:
    """Return the gzipped bytes of files."""
    return sum(len(gzip.compress(path.read_bytes(), 6)) for path in paths)


def main(folder: Path, results: Path) -> None:
    """Compress with each, and add what it costs to the results."""
    folder.mkdir(parents=True, exist_ok=True)
    network = torch_resnet56()
    calibration = tfaudit.load_dataset("cifar10", "train").take(CALIBRATION_IMAGES).images
    test = tfaudit.load_dataset("cifar10", "test")
    np.save(folder / "labels.npy", test.labels)
    np.save(folder / "float.npy", torch_scores(network, test.images))
    size = gzipped([float_onnx(network, folder / "float.onnx")])
    words = [sys.executable, "-m", "tfaudit", "benchmark", "submit", str(results)]
    words += ["--model", "resnet56", "--data-name", "cifar10", "--scores-are", "logits"]
    words += ["--command", f"python -m benchmarks.harm_peers {folder.name} {results.name}"]
    words += ["--labels", str(folder / "labels.npy"), "--baseline", str(folder / "float.npy")]
    for name, compress in COMPRESSORS.items():
        files, scores = compress(network, calibration, folder)
        path = folder / f"{name}.npy"
        np.save(path, scores(test.images))
        share = gzipped(files) / size
        more = ["--compressed", f"{name}={path}", "--size", f"{name}={share:.6f}"]
        subprocess.run([*words, *more], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
