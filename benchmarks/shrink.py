"""Effect of removing pruned channels: `tfaudit.shrink` compared with the same model with zeroed channels.

    python benchmarks/shrink.py [--nets lenet resnet50] [--rounds 60] [--side 224]

A share of the channels of ResNet-50 and LeNet is pruned, those with the lowest L1 norm of their kernels: in the two
inner convolutions of each of ResNet-50's bottlenecks (the ends are joined by `Add`), and in every layer of LeNet except
the logits. Weights, biases and batch normalisation are random, so every pruned channel still outputs a constant.

For the dense, the masked and the shrunk model, the benchmark prints parameters, bytes of the `.keras` file, plain and
gzipped, bytes of the float32 flatbuffer, its milliseconds for one image on one thread (median; the models take turns,
in reverse every other round) and the median over the rounds of the ratio masked / shrunk; and the largest difference
between the outputs of masked and shrunk, in Keras and in LiteRT, as a share of the largest output.

Measured on two shared cores, masked / shrunk at 50 % and 75 % of the channels:

    ResNet-50: parameters 2.05 and 3.20, flatbuffer 2.06 and 3.22, milliseconds 1.87 (71 to 38) and 2.94 (70 to 24)
    LeNet:     parameters 3.92 and 14.8, flatbuffer 3.73 and 11.9, milliseconds 1.29 and 1.42 (0.013 to 0.009)
"""

import argparse
import gzip
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
from ai_edge_litert.interpreter import Interpreter

from tfaudit import shrink
from tfaudit.compress.litert.quantize import quantize
from tfaudit.models.registry import build_model

__all__ = ["main"]


def lenet(side: int) -> tuple[keras.Model, list[str]]:
    """Return LeNet-5 as in [R], on 28x28 whatever `side` is, and the layers to prune."""
    return build_model("lenet_r", (28, 28, 1), 10), ["conv1", "conv2", "dense1", "dense2"]


def resnet50(side: int) -> tuple[keras.Model, list[str]]:
    """Return ResNet-50 and the inner convolutions of its bottlenecks."""
    model = keras.applications.ResNet50(weights=None, input_shape=(side, side, 3))
    return model, [
        layer.name for layer in model.layers if layer.name.endswith(("_1_conv", "_2_conv"))
    ]


NETS = {"lenet": lenet, "resnet50": resnet50}


def prepared(net: str, side: int) -> tuple[keras.Model, list[str]]:
    """Return a network with random biases and normalisation, as after training, and the layers to prune."""
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    model, names = NETS[net](side)
    for weight in model.weights:
        if weight.name in ("bias", "beta", "moving_mean"):
            weight.assign(rng.normal(0, 0.1, weight.shape))
    return model, names


def silence(model: keras.Model, names: list[str], share: float) -> None:
    """Set the kernels of the output channels with the lowest L1 norms to 0."""
    for name in names:
        kernel = model.get_layer(name).kernel
        values = kernel.numpy()
        norms = np.abs(values).reshape(-1, values.shape[-1]).sum(axis=0)
        values[..., norms.argsort(kind="stable")[: round(share * norms.size)]] = 0
        kernel.assign(values)


def file_bytes(model: keras.Model) -> tuple[int, int]:
    """Return the bytes of the saved model, plain and gzipped."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        model.save(path)
        content = path.read_bytes()
    return len(content), len(gzip.compress(content, 6))


def runner(content: bytes) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that runs a flatbuffer in LiteRT on one thread."""
    interpreter = Interpreter(model_content=content, num_threads=1)
    interpreter.allocate_tensors()
    (start,), (end,) = interpreter.get_input_details(), interpreter.get_output_details()

    def run(image: np.ndarray) -> np.ndarray:
        interpreter.set_tensor(start["index"], image)
        interpreter.invoke()
        return interpreter.get_tensor(end["index"])

    return run


def race(runners: dict[str, Callable], image: np.ndarray, rounds: int) -> list[dict[str, float]]:
    """Return the milliseconds of every model in every round."""
    times = []
    for number in range(rounds + 3):
        order = list(runners) if number % 2 else list(reversed(runners))
        times.append({})
        for name in order:
            begin = time.perf_counter()
            runners[name](image)
            times[-1][name] = 1000 * (time.perf_counter() - begin)
    return times[3:]  # without the warm-up


def main() -> None:
    """Shrink, race and print."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--nets", nargs="+", choices=list(NETS), default=list(NETS))
    arguments.add_argument(
        "--rounds", type=int, default=60, help="rounds of ResNet-50; LeNet has ten times as many"
    )
    arguments.add_argument("--side", type=int, default=224, help="pixels of ResNet-50's images")
    chosen = arguments.parse_args()
    for net in chosen.nets:
        for share in (0.5, 0.75):
            compare(net, share, chosen.rounds * (10 if net == "lenet" else 1), chosen.side)


def compare(net: str, share: float, rounds: int, side: int) -> None:
    """Compare the models of one network at one share of channels."""
    model, names = prepared(net, side)
    contents = {"dense": quantize(model, "float32")}
    sizes = {"dense": (model.count_params(), *file_bytes(model))}
    silence(model, names, share)
    begin = time.perf_counter()
    shrunk = shrink(model)
    seconds = time.perf_counter() - begin
    for name, one in (("masked", model), ("shrunk", shrunk.model)):
        contents[name] = quantize(one, "float32")
        sizes[name] = (one.count_params(), *file_bytes(one))
    image = np.random.default_rng(1).uniform(
        0, 255 if net == "lenet" else 1, (1, *model.input_shape[1:])
    )
    image = image.astype(np.float32)
    runners = {name: runner(content) for name, content in contents.items()}
    largest = (
        differences(model, shrunk.model, image),
        differences(runners["masked"], runners["shrunk"], image),
    )
    times = race(runners, image, rounds)
    print(
        f"\n{net}, {share:.0%} of the channels of {len(names)} layers, shrunk in {seconds:.1f} s, {rounds} rounds"
    )
    print(f"  {'':8}{'parameters':>12}{'.keras':>13}{'gzipped':>13}{'.tflite':>13}{'ms':>9}")
    for name, (parameters, *file) in sizes.items():
        median = statistics.median(milliseconds[name] for milliseconds in times)
        print(
            f"  {name:8}{parameters:12,}{file[0]:13,}{file[1]:13,}{len(contents[name]):13,}{median:9.3f}"
        )
    ratios = [
        before / after for before, after in zip(sizes["masked"], sizes["shrunk"], strict=True)
    ]
    ratios += [
        len(contents["masked"]) / len(contents["shrunk"]),
        statistics.median(
            milliseconds["masked"] / milliseconds["shrunk"] for milliseconds in times
        ),
    ]
    print(
        "  ratio   "
        + "".join(
            f"{ratio:{width}.2f}" for ratio, width in zip(ratios, (12, 13, 13, 13, 9), strict=True)
        )
    )
    print(f"  outputs differ by {largest[0]:.1e} in Keras, {largest[1]:.1e} in LiteRT", flush=True)


def differences(one: Callable, other: Callable, image: np.ndarray) -> float:
    """Return the largest difference of the outputs as a share of the largest output."""
    first, second = np.asarray(one(image)), np.asarray(other(image))
    return float(np.abs(first - second).max() / np.abs(first).max())


if __name__ == "__main__":
    main()
