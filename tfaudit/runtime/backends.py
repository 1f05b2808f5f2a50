"""What differs between Keras' backends: TensorFlow, JAX and torch."""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np

from tfaudit.runtime.repeatable_graph import require_repeatable


def strategy_scope(model: Any) -> contextlib.AbstractContextManager[Any]:
    """Return the scope of a model's distribution strategy, which only TensorFlow has."""
    strategy = getattr(model, "distribute_strategy", None)
    return strategy.scope() if strategy is not None else contextlib.nullcontext()


def replicas() -> int:
    """Return the number of replicas between which a training step divides its loss."""
    if keras.backend.backend() != "tensorflow":
        return 1
    import tensorflow as tf

    return int(tf.distribute.get_strategy().num_replicas_in_sync)


def on_arrays(
    function: Callable[..., Any],
    specs: Sequence[tuple[tuple[int | None, ...], np.dtype]],
    variables: Callable[[], Sequence[keras.Variable]],
) -> Callable[..., np.ndarray]:
    """Return a function from tensors to a tensor as one from arrays to an array, compiled where the backend compiles.

    Args:
        function: function of tensors, which changes no variable.
        specs: shape, with None for an open side, and type of each array; TensorFlow traces the function once for them,
            JAX once for each batch size.
        variables: function that returns the variables that the function reads.

    Raises:
        InputError: the function changes variables, or its result is random, as far as a graph of TensorFlow shows it.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        shapes = [tf.TensorSpec(shape, tf.as_dtype(dtype)) for shape, dtype in specs]
        # A concrete function: TensorFlow warns of retracing if many models share this function.
        concrete = tf.function(function, autograph=False).get_concrete_function(*shapes)
        results = [output.op.name for output in concrete.outputs]
        require_repeatable(concrete.graph.as_graph_def(), results)
        return lambda *arrays: concrete(*map(tf.convert_to_tensor, arrays)).numpy()
    if keras.backend.backend() == "jax":
        import jax

        def stateless(values: Sequence[Any], *arrays: Any) -> Any:
            with keras.StatelessScope(list(zip(variables(), values, strict=True))):
                return function(*arrays)

        compiled = jax.jit(stateless)
        return lambda *arrays: np.asarray(compiled([v.value for v in variables()], *arrays))
    if keras.backend.backend() == "torch":
        import torch

        without_gradients: Any = torch.no_grad
    else:
        without_gradients = contextlib.nullcontext

    def eager(*arrays: Any) -> np.ndarray:
        with without_gradients():
            return np.asarray(
                keras.ops.convert_to_numpy(function(*map(keras.ops.convert_to_tensor, arrays)))
            )

    return eager
