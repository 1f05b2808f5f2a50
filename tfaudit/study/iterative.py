"""Iterative pruning."""

from typing import Any

from tfaudit.errors import require, require_least
from tfaudit.study.variants import Pruned


def rounds(count: int, amount: float, **settings: Any) -> tuple[Pruned, ...]:
    """Return the variants of iterative pruning: each round prunes a share of the remaining weights, [P] 2.

    Args:
        count: number of rounds.
        amount: share of the remaining weights that a round prunes, in (0, 1).
        **settings: settings of every `Pruned`; the treatment is "rewind" by default.

    Example:
        >>> [(v.key, v.after) for v in rounds(2, 0.2, method="l1", granularity="channel")]
        [('l1-0.2-treatment=rewind-granularity=channel', 'dense'),
         ('l1-0.36-treatment=rewind-granularity=channel', 'l1-0.2-treatment=rewind-granularity=channel')]
    """
    require_least(1, count=count)
    require(0 < amount < 1, "amount", amount, "a share in (0, 1)")
    variants: list[Pruned] = []
    for number in range(1, count + 1):
        after = variants[-1].key if variants else "dense"
        sparsity = round(1 - (1 - amount) ** number, 6)
        variants.append(
            Pruned(**{"treatment": "rewind", **settings, "sparsity": sparsity, "after": after})
        )
    return tuple(variants)
