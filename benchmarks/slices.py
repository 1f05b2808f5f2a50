"""How often slices are found and claimed: simulated studies, kinds of CIFAR-10, and a rare kind of Fashion-MNIST.

    python -m benchmarks.slices simulated [--studies 300]
    python -m benchmarks.slices kinds MODEL.keras TEST_BATCH.bin STUDY [--studies 300]
    python -m benchmarks.slices fashion FOLDER [--studies 300]

The first prints for several designs how often a kind of 2 % of the images that loses 10 points is found, how often any
slice is claimed, and how often one is claimed where no kind loses more: `tests.extensions.slices.simulated`.

The second takes features of a real network and plants the loss in real kinds. MODEL is the dense model of
`tfaudit run cifar10_pretrained`, TEST_BATCH is CIFAR-10's file, and STUDY, such as the example of the package, has a
column `kind`. One of the kinds of 140 to 260 images loses 10 points; all images change their predictions as noise of
some standard deviation in the logits makes them. Before, a classifier that is trained on the names of the kinds shows
how well the features tell each from the rest of its class.

The third trains a small network on Fashion-MNIST, whose IDX files are in FOLDER. A fifth of the sneakers are shown as
negatives. The network is pruned by magnitude without retraining, and slices are searched. Then the loss is planted in
the negatives, as in the second.
"""

import argparse
from pathlib import Path

import keras
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import StandardScaler

import tfaudit
from tests.extensions.slices.simulated import World, claimed, outcome, overlap
from tfaudit import Predictions
from tfaudit.datasets.idx import find_idx, read_idx

SNEAKER = 7

WORLDS = {
    "10,000 images, one pair": World(),
    "the same, closer kinds": World(separation=4),
    "5,000 images, one pair": World(images=5_000),
    "10,000 images, three pairs": World(members=3),
    "10,000 images, ten pairs": World(members=10),
}


def simulated(studies: int) -> None:
    """Print a row per design."""
    print("| design | distance of kinds | found | any claim | claim without an effect |")
    print("|---|---|---|---|---|")
    for name, world in WORLDS.items():
        some = np.mean([outcome(world, seed, 0.1) for seed in range(studies)], axis=0)
        none = np.mean([outcome(world, 10**6 + seed, 0.0)[0] for seed in range(studies)])
        shares = " | ".join(f"{100 * share:.1f} %" for share in (some[1], some[0], none))
        print(f"| {name} | {world.separation:g} | {shares} |", flush=True)


def kinds(model: str, batch: str, directory: str, studies: int) -> None:
    """Print how often a planted kind is found, and what is claimed without one."""
    rows = np.fromfile(batch, np.uint8).reshape(-1, 3073)
    labels, pixels = rows[:, 0].astype(int), rows[:, 1:].reshape(-1, 3, 32, 32)
    images = pixels.transpose(0, 2, 3, 1).astype(np.float32)
    examples = tfaudit.open_store(directory).examples(images=False)
    kind = np.empty(len(labels), object)
    kind[examples["example"].str.removeprefix("test_").astype(int)] = examples["kind"]
    network = keras.saving.load_model(model, compile=False)
    points = tfaudit.features(network, images)
    logits = np.asarray(network.layers[-1](points.astype(np.float32)))
    names, counts = np.unique(kind.astype(str), return_counts=True)
    chosen = names[(counts >= 140) & (counts <= 260)]
    masks = [kind == name for name in chosen]
    for name, mask in zip(chosen, masks, strict=True):
        inside = labels == labels[mask][0]
        rows = StandardScaler().fit_transform(points[inside].astype(float))
        classifier = LogisticRegression(C=0.1, max_iter=500)
        told = cross_val_predict(classifier, rows, mask[inside], cv=5, method="decision_function")
        print(f"{name}: told from its class with AUC {roc_auc_score(mask[inside], told):.2f}")
    planted(logits, labels, points, masks, studies)


def planted(
    logits: np.ndarray,
    labels: np.ndarray,
    points: np.ndarray,
    kinds: list[np.ndarray],
    studies: int,
) -> None:
    """Print how often a kind that loses 10 points is found, and what is claimed with and without it."""
    dense = logits.argmax(1)
    print(f"accuracy {(dense == labels).mean():.4f}, images of a kind {[k.sum() for k in kinds]}")
    for noise in (0.5, 1.5):
        for members in (1, 10):
            rows = []
            for seed in range(studies):
                rng = np.random.default_rng(seed)
                kind = kinds[seed % len(kinds)]
                before = Predictions.from_top1(labels, dense[None].repeat(members, 0))
                size = (members, *logits.shape)
                after = (logits + noise * rng.normal(size=size).astype(np.float32)).argmax(2)
                hit = kind & (rng.random(after.shape) < 0.1 / (dense == labels)[kind].mean())
                lost = np.where(hit & (after == labels), (labels + 1) % 10, after)
                results = [
                    tfaudit.slices(
                        before,
                        Predictions.from_top1(labels, side, parents=before.members),
                        points,
                        seed=seed,
                    )
                    for side in (lost, after)
                ]
                shared = [overlap(results[0].slice_of == n, kind) for n in claimed(results[0])]
                found = max(shared, default=0) >= 0.5
                lower = (dense == labels).mean() - (after == labels).mean()
                rows.append((found, bool(shared), bool(claimed(results[1])), lower))
            shares = ", ".join(f"{100 * share:.1f} %" for share in np.mean(rows, axis=0))
            heads = "found, any claim, claim without, accuracy lost without"
            print(f"noise {noise}, {members} pairs: {heads}: {shares}", flush=True)


def fashion(folder: str, studies: int) -> None:
    """Print the slices of a pruned network, the share of negatives in each, and how often negatives are found."""
    rng = np.random.default_rng(0)
    sets = {}
    for stem in ("train", "t10k"):
        images = read_idx(find_idx(Path(folder), f"{stem}-images", 3), 3)[..., None]
        labels = read_idx(find_idx(Path(folder), f"{stem}-labels", 1), 1).astype(int)
        negative = (labels == SNEAKER) & (rng.random(len(images)) < 0.2)
        images = np.where(negative[:, None, None, None], 255 - images, images).astype("float32")
        sets[stem] = images / 255, labels, negative
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Conv2D(width, 3, strides=2, activation="relu") for width in (16, 32)]
    dense = keras.layers.Dense(64, activation="relu")
    ends = [keras.layers.Flatten(), dense, keras.layers.Dense(10)]
    model = keras.Sequential([keras.Input((28, 28, 1)), *layers, *ends])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
    model.fit(*sets["train"][:2], epochs=4, batch_size=128, verbose=0)
    images, labels, negative = sets["t10k"]
    before = Predictions(labels, tfaudit.predict(model, images))
    points = tfaudit.features(model, images)
    facts = pd.DataFrame({"brightness": images.mean((1, 2, 3))})
    for sparsity in (0.3, 0.4, 0.5):
        pruned = keras.models.clone_model(model)
        pruned.set_weights(model.get_weights())
        tfaudit.prune(pruned, sparsity)
        after = Predictions(labels, tfaudit.predict(pruned, images))
        found = tfaudit.slices(before, after, points, facts=facts)
        truth = [side.right()[0, negative].mean() for side in (before, after)]
        print(f"pruned {sparsity:.0%}: {before.accuracy()[0]:.4f} -> {after.accuracy()[0]:.4f}")
        print(f"negatives, {negative.sum()}: {truth[0]:.3f} -> {truth[1]:.3f}")
        shares = [negative[found.slice_of == n].mean() for n in found.table["slice"]]
        shown = found.frame().assign(negatives=shares).round(3)
        print(shown.drop(columns=["relative_p", "relative_pp"]).to_string())
    planted(model.predict(images, verbose=0), labels, points, [negative], studies)


def main() -> None:
    """Run one of the three."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["simulated", "kinds", "fashion"])
    parser.add_argument("places", nargs="*")
    parser.add_argument("--studies", type=int, default=300)
    options = parser.parse_args()
    if options.what == "simulated":
        simulated(options.studies)
    elif options.what == "kinds":
        kinds(*options.places, options.studies)
    else:
        fashion(*options.places, options.studies)


if __name__ == "__main__":
    main()
