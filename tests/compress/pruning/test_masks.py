"""Masks against sorting, eagerly and compiled."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_array_equal

from tests.builders.equality import assert_all_close
from tests.builders.pruning_reference import highest, keep_count
from tfaudit.compress.pruning.masks import SCOPES, rank_masks

# Few different values, so that there are ties; and the odd ones.
VALUES = st.sampled_from([0.0, 1e-45, 1e-30, 0.25, 0.5, 0.5000001, 1.0, 3.0, 1e30, float("inf")])
SCORES = st.lists(
    arrays(np.float32, array_shapes(max_dims=3, max_side=4), elements=VALUES),
    min_size=1,
    max_size=4,
)
SPARSITY = st.floats(0, 0.999)


def masks(scores, sparsity, scope):
    ranked = rank_masks(scores, tf.constant(sparsity, tf.float32), scope=scope)
    assert all(mask.dtype == bool for mask in ranked)
    return [mask.numpy() for mask in ranked]


def by_sorting(scores, sparsity, scope):
    if scope == "layer":
        return [highest(each, sparsity) for each in scores]
    together = highest(np.concatenate([each.ravel() for each in scores]), sparsity)
    parts = np.split(together, np.cumsum([each.size for each in scores])[:-1])
    return [part.reshape(each.shape) for part, each in zip(parts, scores, strict=True)]


@pytest.mark.parametrize("scope", SCOPES)
@settings(max_examples=60)
@given(SCORES, SPARSITY)
def test_masks_are_those_of_a_sort(scope, scores, sparsity):
    assert_all_close(masks(scores, sparsity, scope), by_sorting(scores, sparsity, scope))


@pytest.mark.slow
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("jit_compile", [False, True])
def test_compiled_masks_of_a_large_kernel_with_ties(scope, jit_compile):
    rng = np.random.default_rng(0)
    scores = [
        np.round(rng.random((300, 70)), 2).astype(np.float32),
        rng.random(500).astype(np.float32),
    ]
    compiled = tf.function(
        lambda sparsity: rank_masks(scores, sparsity, scope=scope, xla=jit_compile),
        jit_compile=jit_compile,
    )
    for sparsity in (0.0, 0.333, 0.9, 0.99999):
        assert_all_close(compiled(tf.constant(sparsity)), by_sorting(scores, sparsity, scope))


def test_a_nan_stays():
    scores = np.array([1.0, np.nan, np.inf, 2.0], np.float32)
    [mask] = masks([scores], 0.75, "layer")
    assert_array_equal(mask, [False, True, False, False])


@given(st.integers(1, 2**25), SPARSITY)
@settings(max_examples=50)
def test_the_count_of_the_reference_is_that_of_tfmot(size, sparsity):
    # pruning_impl.Pruning._update_mask of TF-MOT 0.8.1, and never more than there are
    theirs = tf.cast(
        tf.maximum(
            tf.round(tf.cast(size, tf.float32) * (1 - tf.constant(sparsity, tf.float32))), 1
        ),
        tf.int32,
    )
    assert keep_count(size, sparsity) == min(int(theirs), size)
