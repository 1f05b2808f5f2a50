"""What tfaudit needs of Keras and Keras has no public name for: the only file that reads private attributes of Keras.

`tests/runtime/test_keras_internals.py` fails on the day a public name appears, or a private one moves.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any


def layers_in(model: Any, *, itself: bool = True) -> list[Any]:
    """Return all layers of a model at any depth, by default with the model itself.

    `model.layers` lists the outermost layers, and leaves out those that a custom layer holds.
    """
    return list(model._flatten_layers(include_self=itself))


def maker(tensor: Any) -> Any:
    """Return the operation that made a symbolic tensor."""
    return tensor._keras_history.operation


def making_call(tensor: Any) -> tuple[Any, list[Any], int]:
    """Return a symbolic tensor's operation, the inputs of the call that made it, and its place in the outputs."""
    operation, call, place = tensor._keras_history
    return operation, operation._inbound_nodes[call].input_tensors, place


def gives_probabilities(operation: Any) -> bool:
    """Return whether an operation is `keras.ops.softmax` or `keras.ops.sigmoid`, whose classes are not public."""
    from keras.src.ops.nn import Sigmoid, Softmax

    return isinstance(operation, Sigmoid | Softmax)


def mark_dense(tensor: Any) -> None:
    """Say of a symbolic tensor that it is not sparse, which Keras 3.15 says of every product with a number."""
    tensor._sparse = False


def calls_of(operation: Any) -> list[Any]:
    """Return the calls of an operation in any model: `input_tensors` and `output_tensors` of each."""
    return list(operation._inbound_nodes)


def readers_of(tensor: Any) -> int:
    """Return how many calls take outputs of the operation that made a symbolic tensor."""
    return len(maker(tensor)._outbound_nodes)


def has_calls(model: Any) -> bool:
    """Return whether a model is functional, so that its calls are known."""
    return hasattr(model, "_nodes_by_depth")


def calls_in(model: Any) -> Iterator[Any]:
    """Yield the calls in a functional model from inputs to outputs: `operation`, `input_tensors`, `output_tensors`.

    `is_input` tells its inputs. `model.operations` has each operation once and does not tell shared calls apart.
    """
    for _, calls in sorted(model._nodes_by_depth.items(), reverse=True):
        yield from calls


def output_shape_of(layer: Any) -> Any:
    """Return the output shape that a `Lambda` was given, a tuple or a function; its config serializes functions."""
    return layer._output_shape


def step_counter(optimizer: Any) -> Any:
    """Return the variable that counts an optimizer's steps: batches, even if several make one update.

    If gradients are accumulated, `optimizer.iterations` counts updates and is not a variable.
    """
    return getattr(optimizer, "inner_optimizer", optimizer)._iterations


def moving_averages(optimizer: Any) -> dict[int, Any]:
    """Return the moving averages that an optimizer with `use_ema` keeps, by the ids of their variables."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    return {
        id(variable): average
        for one in getattr(inner, "optimizers", [inner])
        if one.use_ema and one.built
        for variable, average in zip(
            one._trainable_variables, one._model_variables_moving_average, strict=True
        )
    }


def hold_in_optimizer(optimizer: Any, variables: Iterable[Any]) -> Callable[[], None]:
    """Hand variables to JAX' compiled steps with those of an optimizer, unsaved; return a function that ends this."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    held = list(variables)
    for variable in held:
        variable.held = True
        inner._track_variable(variable)

    def save_own_variables(store: Any) -> None:
        own = (variable for variable in inner.variables if not hasattr(variable, "held"))
        for number, variable in enumerate(own):
            store[str(number)] = variable.numpy()

    def release() -> None:
        for variable in held:
            inner._untrack_variable(variable)
        if not any(hasattr(variable, "held") for variable in inner.variables):
            del inner.save_own_variables

    inner.save_own_variables = save_own_variables
    return release


def build_from(model: Any, batch: Any) -> None:
    """Build a model and its optimizer from the specification of a batch, as `fit` does before its first step."""
    model._symbolic_build(data_batch=batch)


@contextlib.contextmanager
def without_values() -> Iterator[None]:
    """Give variables made inside a shape and no value, ever: a model can be built without memory for its weights."""
    import keras
    from keras.src.backend.common import global_state

    waiting = "uninitialized_variables"
    before = list(global_state.get_global_attribute(waiting) or [])
    try:
        with keras.StatelessScope(initialize_variables=False):
            yield
    finally:
        # They would be given values at the end of the next scope, such as that of any symbolic call.
        global_state.set_global_attribute(waiting, before)
