from pathlib import Path

import numpy as np
import pytest

from tfaudit.compress.pruning.scores import GRANULARITIES, draws_for, score_inputs

DOCUMENTATION = Path(__file__).parents[3] / "docs" / "pruning.md"


@pytest.mark.parametrize("method", GRANULARITIES["weight"])
def test_a_method_scores_every_weight_with_a_number_not_below_zero(method):
    weights = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    gradients = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
    supply = {"weights": weights, "gradients": gradients, "draws": draws_for(0, weights.shape, 0)}
    supply["decay"] = np.float32(5e-4)
    supply["class_gradients"] = np.stack([gradients, gradients[::-1] / 9])
    supply["class_totals"] = abs(weights * supply["class_gradients"]).sum(axis=(1, 2))
    scores = GRANULARITIES["weight"][method](
        **{name: supply[name] for name in score_inputs(method)}
    )
    assert scores.shape == weights.shape
    assert scores.dtype == np.float32
    assert (scores >= 0).all()


def test_draws_depend_on_seed_and_position_alone():
    first = draws_for(0, (50,), 7)
    np.testing.assert_array_equal(first, draws_for(0, (50,), 7))
    assert (first != draws_for(1, (50,), 7)).any()
    assert (first != draws_for(0, (50,), 8)).any()
    assert ((first >= 0) & (first < 1)).all()


def test_the_documentation_lists_every_method():
    rows = [line for line in DOCUMENTATION.read_text().splitlines() if line.startswith("| `")]
    for granularity, methods in GRANULARITIES.items():
        listed = " ".join(row for row in rows if f"{granularity}s" in row.split("|")[2])
        assert not {method for method in methods if f"`{method}`" not in listed}, granularity
