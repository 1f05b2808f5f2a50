"""Images of a streaming set before they are decoded: light to shuffle, and cut before they are decoded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tensorflow as tf

__all__ = ["Encoded"]


@dataclass(frozen=True)
class Encoded:
    """How a streaming set is read from its files.

    Attributes:
        read: Makes a `tf.data.Dataset` of `(encoded image, label, example id)`: for `None` in the fixed order, for a
            seed, int64 scalar, with the files in an order of its own.
        decode: An encoded image to the uint8 `(H, W, C)` that is evaluated.
        example_bytes: Mean size of an encoded example.
    """

    read: Callable[[tf.Tensor | None], tf.data.Dataset]
    decode: Callable[[tf.Tensor], tf.Tensor]
    example_bytes: int

    def stream(self) -> tf.data.Dataset:
        """Single `(image, label, example id)`, decoded, in the fixed order."""
        import tensorflow as tf

        return self.read(None).map(
            lambda image, label, name: (self.decode(image), label, name),
            num_parallel_calls=tf.data.AUTOTUNE,
            deterministic=True,
        )

    def changed(self, change: Callable[[tf.data.Dataset], tf.data.Dataset], *, ordered: bool) -> Encoded:
        """The same with a change of what is read; a change that goes by the order sees the fixed one alone."""
        return Encoded(lambda seed: change(self.read(None if ordered else seed)), self.decode, self.example_bytes)
