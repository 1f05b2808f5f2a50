"""What it buys to take pruned channels out: `tfaudit.shrink` beside the same model with its channels only zeroed.

    python benchmarks/shrink.py [--nets lenet resnet50] [--rounds 60] [--side 224]

A share of the channels of ResNet-50 and of LeNet goes, those with the lowest L1 norm of their kernels: of the two
inner convolutions of each of ResNet-50's bottlenecks (the ends are joined by `Add`), and of every layer of LeNet but
the logits. Weights are random, biases and batch normalisation too, so that every silent channel still emits a constant.

Printed per model, dense, masked and shrunk: parameters, bytes of the `.keras` file, as it is and gzipped, bytes of the
float32 flatbuffer, its milliseconds for one image on one thread (the median; the models take turns, in the other order
every other round) and the median over the rounds of the ratio masked / shrunk of one round; and by how much
the outputs of masked and shrunk differ at most, in Keras and in LiteRT, as a share of the largest output.

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

from tfaudit.compress.litert.quantize import quantize
from tfaudit.compress.shrinking.shrink import shrink
from tfaudit.models.registry import build_model

__all__ = ["main"]


def lenet(side: int) -> tuple[keras.Model, list[str]]:
    """LeNet-5 as [R] trains it, on 28x28 whatever `side` is, and the layers to prune."""
    return build_model("lenet_r", (28, 28, 1), 10), ["conv1", "conv2", "dense1", "dense2"]


def resnet50(side: int) -> tuple[keras.Model, list[str]]:
    """ResNet-50 and the inner convolutions of its bottlenecks."""
    model = keras.applications.ResNet50(weights=None, input_shape=(side, side, 3))
    return model, [layer.name for layer in model.layers if layer.name.endswith(("_1_conv", "_2_conv"))]


NETS = {"lenet": lenet, "resnet50": resnet50}


def prepared(net: str, side: int) -> tuple[keras.Model, list[str]]:
    """A network with random biases and normalisation, as training would leave them."""
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
    """Of the saved model, as it is and gzipped."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        model.save(path)
        content = path.read_bytes()
    return len(content), len(gzip.compress(content, 6))


def answerer(content: bytes) -> Callable[[np.ndarray], np.ndarray]:
    """LiteRT on one thread."""
    interpreter = Interpreter(model_content=content, num_threads=1)
    interpreter.allocate_tensors()
    (start,), (end,) = interpreter.get_input_details(), interpreter.get_output_details()

    def answer(image: np.ndarray) -> np.ndarray:
        interpreter.set_tensor(start["index"], image)
        interpreter.invoke()
        return interpreter.get_tensor(end["index"])

    return answer


def raced(answers: dict[str, Callable], image: np.ndarray, rounds: int) -> list[dict[str, float]]:
    """Milliseconds of every model in every round."""
    times = []
    for number in range(rounds + 3):
        order = list(answers) if number % 2 else list(reversed(answers))
        times.append({})
        for name in order:
            begin = time.perf_counter()
            answers[name](image)
            times[-1][name] = 1000 * (time.perf_counter() - begin)
    return times[3:]  # without the first, which warm up


def main() -> None:
    """Shrink, race and print."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--nets", nargs="+", choices=list(NETS), default=list(NETS))
    arguments.add_argument("--rounds", type=int, default=60, help="of ResNet-50; ten times as many of LeNet")
    arguments.add_argument("--side", type=int, default=224, help="pixels of ResNet-50's images")
    chosen = arguments.parse_args()
    for net in chosen.nets:
        for share in (0.5, 0.75):
            compare(net, share, chosen.rounds * (10 if net == "lenet" else 1), chosen.side)


def compare(net: str, share: float, rounds: int, side: int) -> None:
    """One network at one share of channels."""
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
    image = np.random.default_rng(1).uniform(0, 255 if net == "lenet" else 1, (1, *model.input_shape[1:]))
    image = image.astype(np.float32)
    answers = {name: answerer(content) for name, content in contents.items()}
    kept = differences(model, shrunk.model, image), differences(answers["masked"], answers["shrunk"], image)
    times = raced(answers, image, rounds)
    print(f"\n{net}, {share:.0%} of the channels of {len(names)} layers, shrunk in {seconds:.1f} s, {rounds} rounds")
    print(f"  {'':8}{'parameters':>12}{'.keras':>13}{'gzipped':>13}{'.tflite':>13}{'ms':>9}")
    for name, (parameters, *file) in sizes.items():
        median = statistics.median(each[name] for each in times)
        print(f"  {name:8}{parameters:12,}{file[0]:13,}{file[1]:13,}{len(contents[name]):13,}{median:9.3f}")
    ratios = [before / after for before, after in zip(sizes["masked"], sizes["shrunk"], strict=True)]
    ratios += [
        len(contents["masked"]) / len(contents["shrunk"]),
        statistics.median(each["masked"] / each["shrunk"] for each in times),
    ]
    print(
        "  ratio   " + "".join(f"{ratio:{width}.2f}" for ratio, width in zip(ratios, (12, 13, 13, 13, 9), strict=True))
    )
    print(f"  outputs differ by {kept[0]:.1e} in Keras, {kept[1]:.1e} in LiteRT", flush=True)


def differences(one: Callable, other: Callable, image: np.ndarray) -> float:
    """Largest difference of the answers, as a share of the largest answer."""
    first, second = np.asarray(one(image)), np.asarray(other(image))
    return float(np.abs(first - second).max() / np.abs(first).max())


if __name__ == "__main__":
    main()
