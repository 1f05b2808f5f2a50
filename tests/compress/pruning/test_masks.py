"""The NumPy masks against sorting, and the tensor masks against the NumPy masks."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from tfaudit.compress.pruning.masks import SCOPES, keep_count, masks
from tfaudit.compress.pruning.tf_masks import rank_masks

# Few different values, so that there are ties; and the odd ones.
VALUES = st.sampled_from([0.0, 1e-45, 1e-30, 0.25, 0.5, 0.5000001, 1.0, 3.0, 1e30, float("inf")])
SCORES = st.lists(
    arrays(np.float32, array_shapes(max_dims=3, max_side=4), elements=VALUES),
    min_size=1,
    max_size=4,
)
SPARSITY = st.floats(0, 0.999)


def named(scores):
    return {f"k{i}": each for i, each in enumerate(scores)}


def by_sorting(scores, sparsity):
    """Rank by (score, position) one by one, as the definition says."""
    flat = scores.ravel().tolist()
    order = sorted(range(len(flat)), key=lambda i: (-flat[i], i))
    kept = set(order[: keep_count(len(flat), sparsity)])
    return np.array([i in kept for i in range(len(flat))]).reshape(scores.shape)


@given(SCORES, SPARSITY)
def test_layer_masks_are_those_of_a_sort(scores, sparsity):
    found = masks(named(scores), sparsity, scope="layer")
    for mask, each in zip(found.values(), scores, strict=True):
        assert mask.dtype == bool
        np.testing.assert_array_equal(mask, by_sorting(each, sparsity))


@given(SCORES, SPARSITY)
def test_global_masks_are_those_of_a_sort_of_all(scores, sparsity):
    found = masks(named(scores), sparsity, scope="global")
    together = np.concatenate([mask.ravel() for mask in found.values()])
    np.testing.assert_array_equal(
        together, by_sorting(np.concatenate([s.ravel() for s in scores]), sparsity)
    )
    assert [mask.shape for mask in found.values()] == [each.shape for each in scores]


@pytest.mark.slow
@pytest.mark.parametrize("scope", SCOPES)
@settings(max_examples=60)
@given(SCORES, SPARSITY)
def test_tensors_are_masked_as_arrays_are(scope, scores, sparsity):
    found = rank_masks(
        [tf.constant(each) for each in scores], tf.constant(sparsity, tf.float32), scope=scope
    )
    for mask, wanted in zip(
        found, masks(named(scores), sparsity, scope=scope).values(), strict=True
    ):
        np.testing.assert_array_equal(mask.numpy(), wanted)


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
        wanted = masks(named(scores), sparsity, scope=scope)
        for mask, each in zip(compiled(tf.constant(sparsity)), wanted.values(), strict=True):
            np.testing.assert_array_equal(mask.numpy(), each)


@pytest.mark.parametrize("scope", SCOPES)
@given(SCORES, SPARSITY, SPARSITY)
def test_masks_are_monotone(scope, scores, one, other):
    less, more = (masks(named(scores), sparsity, scope=scope) for sparsity in sorted((one, other)))
    assert all((less[name] | ~more[name]).all() for name in less)


def test_a_nan_stays_in_both():
    scores = np.array([1.0, np.nan, np.inf, 2.0], np.float32)
    np.testing.assert_array_equal(masks({"k": scores}, 0.75)["k"], [False, True, False, False])
    assert rank_masks([tf.constant(scores)], tf.constant(0.75), scope="layer")[
        0
    ].numpy().tolist() == [0, 1, 0, 0]


@given(st.integers(1, 2**25), SPARSITY)
@settings(max_examples=50)
def test_keep_count_is_that_of_tfmot(size, sparsity):
    # pruning_impl.Pruning._update_mask of TF-MOT 0.8.1, and never more than there are
    theirs = tf.cast(
        tf.maximum(
            tf.round(tf.cast(size, tf.float32) * (1 - tf.constant(sparsity, tf.float32))), 1
        ),
        tf.int32,
    )
    assert keep_count(size, sparsity) == min(int(theirs), size)
