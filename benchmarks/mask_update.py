"""Time of a mask update of a ResNet-50: `tfaudit`'s ranking compared with TF-MOT's full sort, in one process.

    python benchmarks/mask_update.py [--rounds 5] [--sparsity 0.9]

An update finds the weights to keep among the 25.5 million of the 54 kernels of `keras.applications.ResNet50`,
initialised at random, compiled by `tf.function`. TF-MOT ranks each kernel separately with `tf.math.top_k` over all its
weights (`pruning_impl.Pruning._update_mask`, called here). It has no global scope; for the comparison it gets all
weights as one kernel. The two take turns. The benchmark prints the median milliseconds, their ratio, and in how many
weights the masks differ (TF-MOT keeps all weights that tie with the last one). Goal: a ratio of 5.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf
from tensorflow_model_optimization.python.core.sparsity.keras import pruning_impl

from tfaudit.compress.pruning.kernels import find_kernels
from tfaudit.compress.pruning.masks import rank_masks

__all__ = ["main"]

Update = Callable[[], list[tf.Tensor]]


def updates(kernels: list[tf.Tensor], sparsity: float, scope: str) -> tuple[Update, Update]:
    """Return our update and TF-MOT's."""
    level = tf.constant(sparsity, tf.float32)
    theirs = pruning_impl.Pruning(lambda: 0, [], lambda step: (True, level), (1, 1), "AVG")

    @tf.function(autograph=False)
    def our_update() -> list[tf.Tensor]:
        return rank_masks([tf.abs(kernel) for kernel in kernels], level, scope=scope)

    @tf.function(autograph=False)
    def their_update() -> list[tf.Tensor]:
        if scope == "layer":
            return [theirs._update_mask(kernel)[1] for kernel in kernels]
        return [
            theirs._update_mask(tf.concat([tf.reshape(kernel, [-1]) for kernel in kernels], 0))[1]
        ]

    return our_update, their_update


def seconds(update: Update) -> float:
    """Return the seconds of one update."""
    begin = time.perf_counter()
    update()[-1].numpy()
    return time.perf_counter() - begin


def main() -> None:
    """Run the rounds and print the ratios."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--sparsity", type=float, default=0.9)
    chosen = arguments.parse_args()
    keras.utils.set_random_seed(0)
    model = keras.applications.ResNet50(weights=None)
    kernels = [tf.convert_to_tensor(kernel) for kernel in find_kernels(model).values()]
    print(
        f"{sum(int(tf.size(kernel)) for kernel in kernels):,} weights in {len(kernels)} kernels, {chosen.rounds} rounds"
    )
    for scope in ("layer", "global"):
        pair = updates(kernels, chosen.sparsity, scope)
        ours, theirs = (
            np.concatenate([np.ravel(mask) for mask in update()]).astype(bool) for update in pair
        )
        times = [[seconds(update) for update in pair] for _ in range(chosen.rounds)]
        one, other = (1000 * statistics.median(column) for column in zip(*times, strict=True))
        differ = np.count_nonzero(ours != theirs)
        print(
            f"  {scope:6}  tfaudit {one:7.0f} ms   TF-MOT {other:7.0f} ms   = {other / one:.1f}x   differ in {differ}"
        )


if __name__ == "__main__":
    main()
