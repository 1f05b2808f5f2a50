"""Does undecayed pruning distort recall less than magnitude pruning ([R] 7.4)? Thirty LeNet5 at a time, on one GPU.

    pip install jax                                                   # with CUDA, for a GPU
    python benchmarks/undecayed_pruning.py train OUT --data FOLDER [--series fashion mnist fashion-decay]
    python benchmarks/undecayed_pruning.py audit OUT --data FOLDER
    python benchmarks/undecayed_pruning.py check --data FOLDER

`train` repeats the recipe `fashion_mnist_lenet5_recall`, and the same on MNIST, with all members in one JAX program: a
LeNet5 alone leaves a GPU idle. It shares no code with tfaudit, needs NumPy and JAX only, and so is also a second
implementation of the recipe. FOLDER holds the four IDX files of each data set, in `fashion_mnist` and `mnist`. Kernels
but the classifier's are ranked together; gradients for undecayed pruning are of 1,024 training images, as in recipes.
The series "fashion-decay" trains and fine-tunes with an L2 penalty of 5e-4, which undecayed pruning compensates for;
"undecayed" then has the derivative of the loss with the penalty, as in [R]'s text, and "undecayed-data" that of the
loss without it, as in the authors' code.

`audit` prints accuracy, variance of recall, the slopes and their tests. `check` compares training and masks with Keras
and `tfaudit.prune` in small.
"""

import argparse
import gzip
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

try:
    import jax
    import jax.numpy as jnp
except ImportError:  # the audit does without
    jax = None

LAYERS = {
    "conv1": (5, 5, 1, 6),
    "conv2": (5, 5, 6, 16),
    "dense1": (400, 120),
    "dense2": (120, 84),
    "logits": (84, 10),
}
PRUNED = tuple(name for name in LAYERS if name != "logits")
BATCH, MOMENTUM, RATE, EPS = 128, 0.9, 0.01, 5e-4
HELD_OUT, SCORED, AT_ONCE = 6000, 1024, 200
EPOCHS, FINE_TUNING = 30, 15
SERIES: dict[str, tuple[str, float, tuple[str, ...], tuple[float, ...]]] = {
    "fashion": ("fashion_mnist", 0.0, ("magnitude", "undecayed"), (2, 4, 10, 20, 50)),
    "mnist": ("mnist", 0.0, ("magnitude", "undecayed"), (2, 4, 6, 8, 10, 20, 50)),
    "fashion-decay": (
        "fashion_mnist",
        EPS,
        ("magnitude", "undecayed", "undecayed-data"),
        (2, 4, 10, 20, 50),
    ),
}
"""Data set, coefficient of the L2 penalty in training, methods and compression ratios of each series."""

Networks = dict[str, Any]
"""Kernels and biases by name, with the members on the first axis."""


def read(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the images `(N, 784)` and the labels `(N,)` of a part, "train" or "t10k", as uint8."""

    def content(name: str) -> bytes:
        plain = folder / f"{part}-{name}-ubyte"
        return plain.read_bytes() if plain.exists() else gzip.open(f"{plain}.gz").read()

    images = np.frombuffer(content("images-idx3"), np.uint8, offset=16)
    return images.reshape(-1, 784), np.frombuffer(content("labels-idx1"), np.uint8, offset=8)


def split(labels: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of 54,000 training and 6,000 validation images, as many of each class."""
    order = np.random.default_rng(seed).permutation(len(labels))
    rank = np.empty(len(labels), int)
    for label in range(10):
        of_class = order[labels[order] == label]
        rank[of_class] = np.arange(len(of_class))
    held_out = rank < HELD_OUT / 10
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def initial(members: int, seed: int) -> Networks:
    """Return networks with Keras' initial weights: Glorot's uniform ones, and biases of 0."""
    draws = np.random.default_rng(seed)
    networks = {}
    for name, shape in LAYERS.items():
        field = int(np.prod(shape[:-2]))
        limit = np.sqrt(6 / (field * (shape[-2] + shape[-1])))
        networks[name] = draws.uniform(-limit, limit, (members, *shape)).astype(np.float32)
        networks[f"{name}_bias"] = np.zeros((members, shape[-1]), np.float32)
    return networks


def convolve(x: Any, kernel: Any) -> Any:
    """Return a 5x5 convolution without padding as one matrix product, which runs well for many networks at once."""
    height, width = x.shape[1] - 4, x.shape[2] - 4
    shifted = [x[:, i : i + height, j : j + width] for i in range(5) for j in range(5)]
    return jnp.concatenate(shifted, -1) @ kernel.reshape(-1, kernel.shape[-1])


def pooled(x: Any) -> Any:
    """Return the largest of each 2x2 pixels after a ReLU."""
    count, height, width, channels = x.shape
    blocks = jax.nn.relu(x).reshape(count, height // 2, 2, width // 2, 2, channels)
    return blocks.max((2, 4))


def scores(network: Networks, pixels: Any) -> Any:
    """Return the logits of one network for standardized pixels `(B, 784)`."""
    x = jnp.pad(pixels.reshape(-1, 28, 28, 1), ((0, 0), (2, 2), (2, 2), (0, 0)))
    x = pooled(convolve(x, network["conv1"]) + network["conv1_bias"])
    x = pooled(convolve(x, network["conv2"]) + network["conv2_bias"])
    x = x.reshape(len(x), -1)
    for name in ("dense1", "dense2"):
        x = jax.nn.relu(x @ network[name] + network[f"{name}_bias"])
    return x @ network["logits"] + network["logits_bias"]


def data_loss(network: Networks, pixels: Any, labels: Any, weights: Any) -> Any:
    """Return the mean cross-entropy of the examples with weight 1."""
    logs = jax.nn.log_softmax(scores(network, pixels))
    losses = -jnp.take_along_axis(logs, labels[:, None].astype(int), 1)[:, 0]
    return (losses * weights).sum() / weights.sum()


class Population:
    """Trains many networks at once on one data set.

    Args:
        folder: folder of the data set.
        decay: coefficient eps of the penalty `eps/2 |w|^2` of every kernel.
    """

    def __init__(self, folder: Path, decay: float) -> None:
        images, labels = read(folder, "train")
        self.mean, self.std = images.mean(), images.std()
        self.decay = decay
        self.labels = labels
        self._data = jnp.array(images), jnp.array(labels)
        self._test = jnp.array(read(folder, "t10k")[0])
        self._epoch = jax.jit(self._one_epoch, donate_argnums=(0, 1))
        self._validate = jax.jit(self._validation_losses)
        self._top1 = jax.jit(self._predictions)
        self.gradients = jax.jit(jax.vmap(self._gradient, (0, 0)))

    def batch(self, rows: Any) -> tuple[Any, Any]:
        """Return standardized pixels and labels of some training images."""
        images, labels = self._data
        return self._standardized(images[rows]), labels[rows]

    def _standardized(self, images: Any) -> Any:
        return (images.astype(jnp.float32) - self.mean) / self.std

    def loss(self, network: Networks, rows: Any, weights: Any) -> Any:
        """Return one network's loss on a batch, with the penalty."""
        penalty = sum((network[name] ** 2).sum() for name in LAYERS) * self.decay / 2
        return data_loss(network, *self.batch(rows), weights) + penalty

    def update(
        self, network: Networks, velocity: Networks, masks: Networks, rows: Any, weights: Any
    ) -> tuple[Networks, Networks]:
        """Make one step of SGD with Nesterov's momentum, as Keras does, and hold pruned weights at 0."""
        slope = jax.grad(self.loss)(network, rows, weights)
        step = {name: MOMENTUM * velocity[name] - RATE * slope[name] for name in network}
        moved = {
            name: network[name] + MOMENTUM * step[name] - RATE * slope[name] for name in network
        }
        return {**moved, **{name: moved[name] * masks[name] for name in masks}}, step

    def _one_epoch(
        self, networks: Networks, velocity: Networks, masks: Networks, rows: Any, keys: Any
    ) -> tuple[Networks, Networks]:
        orders = jax.vmap(jax.random.permutation)(keys, rows)
        short = -orders.shape[1] % BATCH
        orders = jnp.pad(orders, ((0, 0), (0, short)))
        weights = jnp.pad(jnp.ones(orders.shape[1] - short), (0, short)).reshape(-1, BATCH)
        batches = orders.reshape(len(orders), -1, BATCH).transpose(1, 0, 2)
        update = jax.vmap(self.update, (0, 0, 0, 0, None))

        def step(state: tuple[Networks, Networks], batch: tuple[Any, Any]) -> Any:
            return update(*state, masks, *batch), None

        return jax.lax.scan(step, (networks, velocity), (batches, weights))[0]

    def _validation_losses(self, networks: Networks, held_out: Any) -> Any:
        def add(total: Any, rows: Any) -> Any:
            losses = jax.vmap(lambda n, r: data_loss(n, *self.batch(r), jnp.ones(len(r))))
            return total + losses(networks, rows), None

        parts = held_out.reshape(len(held_out), -1, AT_ONCE).transpose(1, 0, 2)
        return jax.lax.scan(add, jnp.zeros(len(held_out)), parts)[0]

    def _predictions(self, networks: Networks) -> Any:
        def top1(images: Any) -> Any:
            pixels = self._standardized(images)
            return jax.vmap(scores, (0, None))(networks, pixels).argmax(-1).astype(jnp.uint8)

        parts = self._test.reshape(-1, AT_ONCE, 784)
        return jnp.moveaxis(jax.lax.map(top1, parts), 0, 1).reshape(len(networks["logits"]), -1)

    def _gradient(self, network: Networks, rows: Any) -> Networks:
        return jax.grad(data_loss)(network, *self.batch(rows), jnp.ones(len(rows)))

    def train(
        self, networks: Networks, masks: Networks, splits: Any, epochs: int, seed: int
    ) -> Networks:
        """Return the networks of the epochs with the lowest validation loss, each its own."""
        rows, held_out = (jnp.array(part) for part in splits)
        count = len(rows)
        networks = {name: jnp.array(value) for name, value in networks.items()}
        masks = {name: jnp.array(value, jnp.float32) for name, value in masks.items()}
        velocity = {name: jnp.zeros_like(value) for name, value in networks.items()}
        # Copies: an epoch reuses the memory of the networks that it is given.
        best = {name: value.copy() for name, value in networks.items()}
        lowest = jnp.full(count, jnp.inf)
        for epoch in range(epochs):
            begin = time.perf_counter()
            keys = jax.random.split(jax.random.key(seed * 1000 + epoch), count)
            networks, velocity = self._epoch(networks, velocity, masks, rows, keys)
            losses = self._validate(networks, held_out)
            better, lowest = losses < lowest, jnp.minimum(losses, lowest)
            best = {
                name: jnp.where(better.reshape(-1, *[1] * (value.ndim - 1)), value, best[name])
                for name, value in networks.items()
            }
            mean = float(losses.mean()) / (held_out.shape[1] / AT_ONCE)
            seconds = time.perf_counter() - begin
            print(f"{count} networks, epoch {epoch}: {mean:.4f}, {seconds:.1f} s", flush=True)
        return {name: np.array(value) for name, value in best.items()}

    def top1(self, networks: Networks) -> np.ndarray:
        """Return the predicted classes of the test images, uint8 `(members, 10000)`."""
        return np.array(self._top1(networks))


def masks_at(
    networks: Networks, ratio: float, method: str, gradients: Networks, decay: float
) -> Networks:
    """Return the masks at a compression ratio, of float32 0 and 1: the weights with the highest scores stay."""
    sizes = {name: int(np.prod(shape)) for name, shape in LAYERS.items()}
    total = sum(sizes.values()) + sum(shape[-1] for shape in LAYERS.values())
    prunable = sum(sizes[name] for name in PRUNED)
    kept = max(round(total / ratio - (total - prunable)), 1)
    values = {}
    for name in PRUNED:
        w = networks[name]
        slope = gradients[name] + (decay * w if method == "undecayed" else 0)
        values[name] = np.abs(w) if method == "magnitude" else np.abs(EPS * w * w - w * slope)
    flat = np.concatenate([value.reshape(len(value), -1) for value in values.values()], 1)
    order = np.argsort(-flat, axis=1, kind="stable")
    mask = np.zeros_like(flat)
    np.put_along_axis(mask, order[:, :kept], 1, 1)
    cuts = np.cumsum([sizes[name] for name in PRUNED])[:-1]
    parts = np.split(mask, cuts, axis=1)
    return {
        name: part.reshape(values[name].shape) for name, part in zip(PRUNED, parts, strict=True)
    }


def together(parts: list[Networks]) -> Networks:
    """Return several populations as one."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def train_series(name: str, data: Path, members: int, epochs: tuple[int, int]) -> dict[str, Any]:
    """Train, prune and fine-tune one series; return the predicted classes by variant."""
    folder, decay, methods, ratios = SERIES[name]
    seed = list(SERIES).index(name) + 1
    population = Population(data / folder, decay)
    splits = [
        np.stack(part)
        for part in zip(
            *(split(population.labels, seed * 1000 + k) for k in range(members)), strict=True
        )
    ]
    ones = {layer: np.ones((members, *LAYERS[layer])) for layer in PRUNED}
    dense = population.train(initial(members, seed), ones, splits, epochs[0], 10 * seed)
    draws = np.random.default_rng(seed)
    scored = np.stack([draws.choice(rows, SCORED, replace=False) for rows in splits[0]])
    gradients = {k: np.array(v) for k, v in population.gradients(dense, scored).items()}
    levels = [(method, ratio) for method in methods for ratio in ratios]
    masks = [masks_at(dense, ratio, method, gradients, decay) for method, ratio in levels]
    pruned = [{**dense, **{layer: dense[layer] * mask[layer] for layer in mask}} for mask in masks]
    repeated = [np.concatenate([part] * len(levels)) for part in splits]
    tuned = population.train(together(pruned), together(masks), repeated, epochs[1], 10 * seed + 1)
    found = {"dense": population.top1(dense)}
    predictions = np.split(population.top1(tuned), len(levels))
    for (method, ratio), of_level in zip(levels, predictions, strict=True):
        found[f"{method} {ratio}"] = of_level
    return found


def train(out: Path, data: Path, series: list[str], members: int, epochs: tuple[int, int]) -> None:
    """Train the series and save the predictions of each when it is done."""
    jax.config.update("jax_default_matmul_precision", "highest")
    print(jax.devices(), flush=True)
    for name in series:
        begin = time.perf_counter()
        found = train_series(name, data, members, epochs)
        np.savez_compressed(out / f"{name}.npz", **found)
        labels = read(data / SERIES[name][0], "t10k")[1]
        accuracies = {key: round(float((top1 == labels).mean()), 4) for key, top1 in found.items()}
        seconds = time.perf_counter() - begin
        print(name, f"{seconds:.0f} s", json.dumps(accuracies), flush=True)


def audit(out: Path, data: Path) -> None:
    """Print what tfaudit says of the predictions of every series."""
    import pandas as pd

    from tfaudit import Predictions
    from tfaudit.extensions.distortion.recall_distortion import distortion
    from tfaudit.extensions.distortion.slope_marks import mark_slopes
    from tfaudit.extensions.distortion.slope_tests import slope_tests
    from tfaudit.extensions.distortion.slopes import slope_frame

    pd.set_option("display.width", 160, "display.max_columns", 20, "display.max_rows", 200)
    for path in sorted(out.glob("*.npz")):
        folder, _, methods, _ = SERIES[path.stem]
        found = np.load(path)
        labels = read(data / folder, "t10k")[1]
        dense = Predictions.from_top1(labels, found["dense"])
        pairs = {}
        for key in found.files[1:]:
            method, ratio = key.split()
            pairs[method, float(ratio)] = distortion(
                dense, Predictions.from_top1(labels, found[key])
            )
        slopes = slope_frame(pairs, by=("method", "level"))
        rows = []
        for key, members in slopes.groupby(["method", "level"], sort=False):
            mark = mark_slopes(members["alpha"].to_numpy(), levels=5)  # 99 % intervals, as in [R]
            means = members[["accuracy_after", "variance_after"]].mean()
            rows.append([*key, *means, mark.mean, mark.low, mark.high, mark.mark])
        columns = ["method", "ratio", "accuracy", "variance", "slope", "low", "high", "mark"]
        before = slopes[["accuracy_before", "variance_before"]].mean()
        print(
            f"\n{path.stem}: {dense.num_members} members, dense accuracy {before.iloc[0]:.4f},",
            end="",
        )
        print(f" variance {before.iloc[1]:.5f}")
        print(pd.DataFrame(rows, columns=columns).round(5).to_string(index=False))
        against = [("magnitude", method) for method in methods[1:]]
        for tests in (
            slope_tests(slopes, "level", paired=True, alternative="less"),
            slope_tests(slopes, "method", paired=True, pairs=against),
        ):
            print(tests.drop(columns=["members_first", "t", "df"]).round(5).to_string(index=False))


def check(data: Path, steps: int = 8, ratio: float = 10) -> None:
    """Print the largest differences from Keras and tfaudit, from the same weights and batches."""
    import keras

    from tfaudit import prune
    from tfaudit.compress.pruning.sparsity import sparsity_at
    from tfaudit.models.registry import build_model

    population = Population(data / "fashion_mnist", 0.0)
    networks = initial(1, 0)
    options = {"mean": population.mean, "std": population.std}
    model = build_model("lenet_r", (28, 28, 1), 10, **options)
    names = [f"{name}{part}" for name in LAYERS for part in ("", "_bias")]
    model.set_weights([networks[name][0] for name in names])
    model.compile(
        keras.optimizers.SGD(RATE, MOMENTUM, nesterov=True),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    images, labels = read(data / "fashion_mnist", "train")
    images = images.reshape(-1, 28, 28, 1).astype(np.float32)
    count = steps * BATCH
    model.fit(images[:count], labels[:count], BATCH, shuffle=False, verbose=0)
    network = {name: jnp.array(value[0]) for name, value in networks.items()}
    velocity = {name: jnp.zeros_like(value) for name, value in network.items()}
    update = jax.jit(population.update)
    for rows in jnp.arange(count).reshape(-1, BATCH):
        network, velocity = update(network, velocity, {}, rows, jnp.ones(BATCH))
    after = dict(zip(names, model.get_weights(), strict=True))
    worst = max(float(np.abs(network[name] - after[name]).max()) for name in names)
    moved = max(float(np.abs(networks[name][0] - after[name]).max()) for name in names)
    print(f"weights after {steps} steps of SGD: {worst:.1e} apart, where they moved by {moved:.2g}")
    trained = {name: value[None] for name, value in after.items()}
    gradients = population.gradients(trained, jnp.arange(SCORED)[None])
    gradients = {name: np.array(value) for name, value in gradients.items()}
    scored = images[:SCORED], labels[:SCORED]
    for method, settings in (("magnitude", {}), ("undecayed", {"decay": EPS})):
        model.set_weights([after[name] for name in names])
        sparsity = sparsity_at(model, ratio, PRUNED)
        found = prune(
            model,
            sparsity,
            method=method,
            scope="global",
            layers=PRUNED,
            gradient_data=scored,
            **settings,
        )
        own = masks_at(trained, ratio, method, gradients, 0.0)
        pairs = list(zip(own.values(), found.values(), strict=True))
        apart = sum(int((mine[0] != theirs).sum()) for mine, theirs in pairs)
        kept = sum(int(theirs.sum()) for _, theirs in pairs)
        print(f"{method} at ratio {ratio:g}: {apart} of {kept} weights that stay differ")


def main() -> None:
    """Train, audit or check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("train", "audit", "check"))
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--series", nargs="+", choices=SERIES, default=list(SERIES))
    parser.add_argument("--members", type=int, default=30)
    parser.add_argument("--epochs", type=int, nargs=2, default=(EPOCHS, FINE_TUNING))
    options = parser.parse_args()
    if options.what == "train":
        options.out.mkdir(parents=True, exist_ok=True)
        train(options.out, options.data, options.series, options.members, tuple(options.epochs))
    elif options.what == "audit":
        audit(options.out, options.data)
    else:
        check(options.data)


if __name__ == "__main__":
    main()
