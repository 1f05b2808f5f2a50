"""Simulated tables of class accuracy, whose effects are known."""

import numpy as np
import pandas as pd

PAPER_LEVELS = {
    "dataset": ["cifar-10", "cifar-100", "emnist", "fashionmnist", "kmnist", "mnist", "svhn"],
    "model": ["AlexNet", "LeNet", "resnet18", "vgg11"],
    "weight_treatment": ["finetune", "rewind"],
    "technique": [
        "global_unstructured",
        "l1_structured",
        "l1_unstructured",
        "l2_structured",
        "linfty_structured",
        "random_structured",
        "random_unstructured",
    ],
}
SMALL = {name: levels[:2] for name, levels in PAPER_LEVELS.items()}


def simulated(n, levels, seed=0):
    """Rows whose accuracy follows known effects: sparsity -0.3, accuracy0 0.5, imbalance 1.2, entropy -0.02."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame({name: rng.choice(names, n) for name, names in levels.items()})
    rows["member"], rows["class"] = rng.integers(0, 3, n), rng.integers(0, 10, n).astype(str)
    rows["sparsity"], rows["accuracy0"] = rng.random(n), rng.uniform(0.6, 1, n)
    rows["accuracy0_quartile"] = rng.integers(1, 5, n)
    rows["imbalance"], rows["class_entropy"] = rng.normal(0, 0.03, n), rng.uniform(2, 6, n)
    effects = (
        -0.3 * rows["sparsity"]
        + 0.5 * rows["accuracy0"]
        + 1.2 * rows["imbalance"]
        - 0.02 * rows["class_entropy"]
    )
    rows["accuracy"] = 0.45 + effects + rng.normal(0, 0.03, n)
    rows["examples"] = rng.integers(50, 150, n)
    rows["correct"] = rng.binomial(rows["examples"], rows["accuracy"].clip(0, 1))
    return rows


TABLE = simulated(400, SMALL)
SPARSE = {"without": ["np.exp(sparsity)", "np.exp(sparsity):dataset", "np.exp(sparsity):technique"]}
