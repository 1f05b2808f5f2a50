"""Representative examples: every class and every part of the data, however they are sorted."""

import numpy as np
import pytest

from tfaudit.datasets.representative import representative_positions

CLASSES = np.repeat(np.arange(10), [500, 20, *[100] * 6, 377, 3])


@pytest.mark.parametrize("order", ["sorted", "reversed", "interleaved", "shuffled"])
def test_every_class_is_drawn_as_often_as_any_other(rng, order):
    ranks = np.concatenate([np.arange(n) for n in np.bincount(CLASSES)])
    positions = {
        "sorted": np.arange(len(CLASSES)),
        "reversed": np.arange(len(CLASSES))[::-1],
        "interleaved": np.lexsort((CLASSES, ranks)),
        "shuffled": rng.permutation(len(CLASSES)),
    }
    labels = CLASSES[positions[order]]
    drawn = representative_positions(len(labels), 100, labels=labels)
    assert len(set(drawn.tolist())) == 100
    counts = np.bincount(labels[drawn], minlength=10)
    assert counts[9] == 3
    assert {*counts[:9].tolist()} <= {10, 11}
    assert len(set(labels[drawn[:10]].tolist())) == 10  # the first few stand for all, too


@pytest.mark.parametrize("period", [1, 10, 100])
def test_without_labels_every_stretch_is_drawn_from_and_no_period_is_met(period):
    drawn = representative_positions(10_000, 100)
    assert sorted(drawn // 100) == list(range(100))
    assert len(set((drawn // period % 10).tolist())) > 5
    assert sorted(representative_positions(7, 100)) == list(range(7))


def test_the_seed_alone_decides():
    draws = [representative_positions(500, 20, seed, labels=CLASSES[:500]) for seed in (1, 1, 2)]
    assert draws[0].tolist() == draws[1].tolist() != draws[2].tolist()
