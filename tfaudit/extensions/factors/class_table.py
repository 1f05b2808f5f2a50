"""Table of class accuracies and their covariates, the input of `factors`: [P] 3.1."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tfaudit.errors import InputError, listed, require
from tfaudit.predictions import Predictions, require_same_examples
from tfaudit.stats.ratios import member_mean

DESCRIBED = ("dataset", "model", "weight_treatment", "technique", "sparsity")


def class_table(
    populations: Mapping[str, Predictions],
    descriptions: pd.DataFrame,
    classes: pd.DataFrame | None = None,
    *,
    baseline: str = "dense",
) -> pd.DataFrame:
    """Tabulate the accuracy of every class under every compressed model with its covariates, [P] 3.1.

    Join tables of several studies (other data sets, other models) with `pandas.concat`.

    Columns: `variant`, `member`, `class`; `dataset`, `model`, `weight_treatment`, `technique` and `sparsity` from the
    descriptions, if given there; `accuracy` (recall of the class, [P] eq. 1), `correct` and `examples` (counts);
    `accuracy0`, the recall of the class before compression, by the baseline member of the same name (the network that
    was pruned), otherwise the mean over the baseline's members; `accuracy0_quartile`, 1 to 4 among the classes of that
    baseline member; `imbalance`, the class's share of the training set minus 1/C; and `class_entropy`, bits. The last
    two are missing without `classes`; a class without test examples has no accuracy.

    Args:
        populations: predictions by key of the variant, including the baseline, which has no rows in the table.
        descriptions: facts about the variants, indexed by key, with any of the five columns named above.
        classes: one row per `class` (its name), with any of `train_examples` (count) and `entropy_bits` (mean Shannon
            entropy of the pixel values of its images); none by default.
        baseline: key of the uncompressed population, "dense" by default.

    Raises:
        InputError: no such baseline, no other population, different examples, repeated keys, or classes that do not
            match.

    Example:
        >>> before = Predictions.from_top1([0, 0, 1, 1], [[0, 0, 1, 0]])
        >>> after = Predictions.from_top1([0, 0, 1, 1], [[0, 0, 0, 0]])
        >>> facts = pd.DataFrame({"technique": ["l1"], "sparsity": [0.9]}, index=["pruned"])
        >>> table = class_table({"dense": before, "pruned": after}, facts)
        >>> table[["variant", "class", "technique", "sparsity", "accuracy", "accuracy0"]]
          variant class technique  sparsity  accuracy  accuracy0
        0  pruned     0        l1       0.9       1.0        1.0
        1  pruned     1        l1       0.9       0.0        0.5
    """
    known = ", ".join(populations) or "none"
    require(baseline in populations, "baseline", baseline, f"one of the populations ({known})")
    if len(populations) == 1:
        got = f"only the baseline {baseline!r}"
        raise InputError("populations", got, "a population to compare with it")
    if descriptions.index.has_duplicates:
        repeated = descriptions.index[descriptions.index.duplicated()][0]
        raise InputError("descriptions", f"two rows of {repeated!r}", "one row per variant")
    reference = populations[baseline]
    facts = descriptions.reindex(index=list(populations), columns=list(DESCRIBED))
    covariates = _covariates(reference.class_names, classes)
    before = dict(zip(reference.members, reference.recall(), strict=True))
    mean = member_mean(reference.recall())
    examples = np.bincount(reference.labels, minlength=reference.num_classes)
    tables = []
    for key, population in populations.items():
        if key == baseline:
            continue
        require_same_examples(reference, population)
        for member, accuracy in zip(population.members, population.recall(), strict=True):
            accuracy0 = before.get(member, mean)
            columns = {
                "variant": key,
                "member": member,
                "class": population.class_names,
                **facts.loc[key],
                "accuracy": accuracy,
                "correct": np.rint(np.nan_to_num(accuracy) * examples).astype(int),
                "examples": examples,
                "accuracy0": accuracy0,
                "accuracy0_quartile": _quartile(accuracy0),
                **covariates,
            }
            tables.append(pd.DataFrame(columns, index=range(len(examples))))
    return pd.concat(tables, ignore_index=True)


def _quartile(values: np.ndarray) -> np.ndarray:
    """Return 1 to 4, as `pandas.qcut` does if the quartiles differ; NaN for NaN."""
    finite = np.isfinite(values)
    quartile = 1.0 + (values[:, None] > np.quantile(values[finite], (0.25, 0.5, 0.75))).sum(1)
    return np.where(finite, quartile, np.nan)


def _covariates(names: tuple[str, ...], classes: pd.DataFrame | None) -> pd.DataFrame:
    """Return imbalance and entropy, one row per class in the order of `names`."""
    covariates = pd.DataFrame(
        {"imbalance": np.nan, "class_entropy": np.nan}, index=range(len(names))
    )
    if classes is None:
        return covariates
    if "class" not in classes:
        columns = ", ".join(map(str, classes.columns))
        raise InputError("classes", f"columns {columns}", "a column `class`")
    rows = classes.assign(**{"class": classes["class"].astype(str)}).set_index("class")
    if rows.index.has_duplicates or sorted(rows.index) != sorted(names):
        expected = f"one row for each of the {len(names)} predicted classes ({listed(names, 3)})"
        raise InputError("classes", f"{len(rows)} rows", expected)
    rows = rows.reindex(list(names)).reset_index(drop=True)
    if "train_examples" in rows:
        count = rows["train_examples"].to_numpy(np.float64)
        if not (np.isfinite(count).all() and (count >= 0).all() and count.sum() > 0):
            raise InputError("classes", "invalid train_examples", "counts, 0 or more and not all 0")
        # Rounded, it is exactly 0 for equal classes.
        covariates["imbalance"] = np.round(count / count.sum() - 1 / len(names), 15)
    if "entropy_bits" in rows:
        covariates["class_entropy"] = rows["entropy_bits"].astype(float)
    return covariates
