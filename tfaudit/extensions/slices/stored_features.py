"""Features of the test examples of a study, stored on request."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from tfaudit.errors import InputError
from tfaudit.extensions.slices.slices import require_features
from tfaudit.store.store import Store


def dense_features(store: Store) -> np.ndarray:
    """Return the features of the study's test examples in its first dense member, `(N, D)` float16.

    Raises:
        InputError: no data, no model, or other test examples than the study holds.
    """
    if store.imported is not None:
        raise InputError("features", "none", "--features FILE, because the study holds no models")
    from tfaudit.compress.features import features
    from tfaudit.datasets.fingerprint import Fingerprint
    from tfaudit.population.stored_examples import load_test
    from tfaudit.population.stored_models import StoredModels

    test = load_test(store.study)
    store.require_same_data(test=Fingerprint.of(test))
    if store.examples(images=False, groups=False)["example"].tolist() != test.example_ids.tolist():
        raise InputError("dataset", "other test examples than the study holds", "the same")
    member = store.members("dense")[0]
    return features(StoredModels(store, test).open("dense", member), test)


def save_features(store: Store, values: ArrayLike) -> None:
    """Store features, `(N, D)`, in the order of the test examples, as float16 beside their ids."""
    ids = store.examples(images=False, groups=False)["example"]
    rows = require_features(values, len(ids)).astype(np.float16)
    table = pd.DataFrame(rows, columns=[str(column) for column in range(rows.shape[1])])
    store.save_table("features", table.assign(example=ids.to_numpy()))
