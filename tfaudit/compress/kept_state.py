"""State of a Keras model: variables that a call in inference mode leaves to the next."""

import contextlib
from collections.abc import Iterator

import keras

from tfaudit.runtime.keras_internals import layers_in
from tfaudit.runtime.repeatable_graph import not_repeatable


def recurrent_states(model: keras.Model) -> list[keras.Variable]:
    """Return the states of stateful recurrent layers, at any depth of a model.

    >>> layers = [keras.Input((5, 2), batch_size=1), keras.layers.GRU(3, stateful=True)]
    >>> [tuple(state.shape) for state in recurrent_states(keras.Sequential(layers))]
    [(1, 3)]
    """
    return [
        state
        for layer in layers_in(model)
        if isinstance(layer, keras.layers.RNN) and layer.stateful
        for state in keras.tree.flatten(layer.states)
    ]


@contextlib.contextmanager
def from_initial_state(model: keras.Model) -> Iterator[None]:
    """Call a model as if its stateful recurrent layers had just been reset, and change none of its variables.

    Raises:
        InputError: the call changes other variables, such as statistics of a batch. Seeds may change on TensorFlow,
            whose graph shows whether they matter.
    """
    on_jax = (
        keras.backend.backend() == "jax"
    )  # An inner scope does not see the traced values of an outer one.
    states = recurrent_states(model)
    own = {id(state) for state in states}
    others = [variable for variable in model.variables if id(variable) not in own]
    values = [(variable, variable.value) for variable in others if on_jax]
    zeros = [(state, keras.ops.zeros_like(state.value)) for state in states]
    scope = keras.StatelessScope(values + zeros)
    before = [scope.get_current_value(variable) for variable in others]
    with scope:
        yield
    seeds_matter = keras.backend.backend() != "tensorflow"
    changed = [
        variable.path
        for variable, value in zip(others, before, strict=True)
        if scope.get_current_value(variable) is not value
        and (seeds_matter or variable.name != "seed_generator_state")
    ]
    if changed:
        raise not_repeatable(changed)


@contextlib.contextmanager
def reset_states(model: keras.Model) -> Iterator[None]:
    """Reset the stateful recurrent layers of a model within the block, as for a file that begins with its variables."""
    states = recurrent_states(model)
    values = [keras.ops.convert_to_numpy(state) for state in states]
    try:
        for state in states:
            state.assign(keras.ops.zeros_like(state))
        yield
    finally:
        for state, value in zip(states, values, strict=True):
            state.assign(value)
