"""Batches that are larger than the memory: gradients are summed over parts of a batch before the optimizer's step."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from tfaudit.errors import InputError, require


class MicroBatches:
    """The training step of a compiled model in micro-batches; takes the place of `model.train_step`.

    The model's own step runs on one micro-batch after the other, without the optimizer's update. The mean of their
    gradients, weighted by their sizes, is applied once. Everything that counts or acts by step sees one step per batch:
    learning-rate schedules, averages of weights, clipping, weight decay, loss scaling, masks and callbacks. (The
    optimizers' own `gradient_accumulation_steps` counts micro-batches as steps.)

    A step equals that of the whole batch but for rounding, except for what a layer or a loss takes from all examples
    that it sees at once: batch normalisation has the statistics of a micro-batch and moves its averages once for each.

    Args:
        model: a compiled model, whose `train_step` applies gradients once, by `model.optimizer`.
        size: the largest number of examples of a micro-batch.

    Attributes:
        train_step: the step of one micro-batch.

    Example:
        >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> model.train_step = MicroBatches(model, 16)
        >>> _ = model.fit(tf.ones((64, 2)), tf.ones(64), batch_size=64, verbose=0)
        >>> int(model.optimizer.iterations)
        1
    """

    def __init__(self, model: keras.Model, size: int) -> None:
        require(size >= 1, "micro_batch", size, "1 example or more")
        self.train_step = model.train_step
        self._model, self._size = model, size

    def __call__(self, data: Any) -> dict[str, Any]:
        """Make one optimizer step on a batch, and return the metrics."""
        model = self._model
        variables = model.trainable_variables
        examples = tf.shape(keras.tree.flatten(data)[0])[0]
        unused: set[int] = set()  # variables without a gradient, known after tracing

        def summed(sums: list[tf.Tensor], start: tf.Tensor, count: tf.Tensor) -> list[tf.Tensor]:
            part = keras.tree.map_structure(lambda values: values[start : start + count], data)
            share = tf.cast(count, tf.float32) / tf.cast(examples, tf.float32)
            gradients = self._gradients(part)
            unused.update(i for i, gradient in enumerate(gradients) if gradient is None)
            return [
                total if gradient is None else total + tf.cast(share, total.dtype) * gradient
                for total, gradient in zip(sums, gradients, strict=True)
            ]

        def next_part(start: tf.Tensor, *sums: tf.Tensor) -> list[tf.Tensor]:
            return [start + self._size, *summed([*sums], start, self._size)]

        # One after the other: parallel iterations would hold the activations of all of them.
        start, *sums = tf.while_loop(
            lambda start, *_: start + self._size <= examples,
            next_part,
            [tf.constant(0), *(tf.zeros(each.shape, each.dtype) for each in variables)],
            parallel_iterations=1,
        )
        # XLA needs parts of a fixed size in a loop, so the last, smaller one comes after it.
        sums = tf.cond(
            start < examples, lambda: summed(sums, start, examples - start), lambda: list(sums)
        )
        gradients = [None if i in unused else total for i, total in enumerate(sums)]
        model.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return model.get_metrics_result()  # type: ignore[no-any-return]

    def _gradients(self, data: Any) -> list[Any]:
        """Return the gradients of a micro-batch in the order of the variables, None for one that it does not use."""
        model = self._model
        made: list[dict[int, Any]] = []

        def note(gradients: Any, variables: Any = None) -> None:
            known = model.trainable_variables if variables is None else variables
            made.append(
                {id(variable): each for variable, each in zip(known, gradients, strict=True)}
            )

        model.optimizer.apply = note
        try:
            self.train_step(data)
        finally:
            del model.optimizer.apply
        if len(made) != 1:
            got = f"{model.name!r}, whose train_step applies gradients {len(made)} times by model.optimizer"
            raise InputError("micro_batch", got, "a train_step that applies them once")
        gradients = [made[0].get(id(variable)) for variable in model.trainable_variables]
        return [None if each is None else tf.convert_to_tensor(each) for each in gradients]
