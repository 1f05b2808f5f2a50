"""Simulated tables of class accuracy, whose effects are known."""

import numpy as np
import pandas as pd

from tfaudit.extensions.factors.regression import factors

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


def without_effects(seed, classes, *, before=False, uneven=False):
    """Rows of two members at four sparsities, whose classes are as difficult as their covariates do not explain.

    There is an accuracy before compression, too, if `before`. If uneven, the imbalance is large in few classes, and
    classes have 20 to 100 % of the rows.
    """
    rng = np.random.default_rng(seed)
    names = [str(number) for number in range(classes)]
    levels = {"member": range(2), "class": names, "sparsity": [0.3, 0.5, 0.7, 0.9]}
    rows = pd.MultiIndex.from_product(levels.values(), names=levels).to_frame(index=False)
    number = rows["class"].astype(int).to_numpy()
    spread = rng.lognormal(0, 1, classes) if uneven else rng.normal(0, 1, classes)
    rows["imbalance"] = 0.03 * spread[number]
    rows["class_entropy"] = rng.normal(4, 1, classes)[number]
    difficulty = rng.normal(0, 0.05, classes)[number]
    rows["accuracy"] = 0.8 - 0.1 * rows["sparsity"] + difficulty + rng.normal(0, 0.01, len(rows))
    rows["examples"] = 500
    rows["correct"] = rng.binomial(500, rows["accuracy"].clip(0, 1))
    kept = rng.random(len(rows)) < np.linspace(0.2, 1, classes)[number]
    if before:
        own = rng.normal(0.8, 0.05, classes)[number]
        rows["accuracy0"] = own + rng.normal(0, 0.02, len(rows))
    return rows[kept] if uneven else rows


def false_alarms(table, fit=factors):
    """Whether covariates of classes without an effect have p <= .05, by HAC errors and by class; NaN if not tested."""
    terms = ["imbalance", "class_entropy"]
    without = ["np.exp(sparsity)", "np.exp(sparsity):accuracy0"]
    frame = fit(table, without=without).frame().set_index("term").loc[terms]
    shares = {"HAC": frame["p"] <= 0.05}
    for name, column in {"by class": "cluster_p", "one-tailed": "cluster_p_one_tailed"}.items():
        shares[name] = (frame[column] <= 0.05).where(frame[column].notna())
    return {
        **{name: share.astype(float).mean() for name, share in shares.items()},
        "not tested": frame["cluster_p"].isna().mean(),
    }


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
