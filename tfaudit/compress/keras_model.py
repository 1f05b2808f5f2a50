"""Keras models: checks that a model can be used, and traced inference on any backend."""

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import keras
import numpy as np

from tfaudit.compress.kept_state import from_initial_state
from tfaudit.compress.model_inputs import OPEN_SIDE, Input, Inputs, as_inputs, holds, no_such_output
from tfaudit.errors import InputError, listed, one_line, require
from tfaudit.runtime.backends import on_arrays
from tfaudit.runtime.keras_internals import gives_probabilities, layers_in, maker, making_call

if TYPE_CHECKING:
    import tensorflow as tf


def require_keras_model(model: object, expected: str = "a Keras 3 model") -> keras.Model:
    """Return the model itself, or raise an `InputError` unless it is a Keras 3 model with variables."""
    if not isinstance(model, keras.Model):
        if any(base.__module__.partition(".")[0] == "tf_keras" for base in type(model).__mro__):
            expected += (
                "; prune others with TF-MOT's own prune_low_magnitude and audit their scores with "
                "tfaudit.Predictions.from_scores(labels, scores)"
            )
            raise InputError("model", "a tf_keras (Keras 2) model", expected)
        raise InputError("model", type(model).__name__, expected)
    if not model.built:
        got = f"{model.name!r}, which has no variables yet"
        raise InputError("model", got, "a built model: call model.build(...), or call it once")
    return model


def require_tensorflow() -> None:
    """Raise an `InputError` if Keras runs on another backend than TensorFlow."""
    remedy = "; a saved model has no backend, and the commands of tfaudit take it from any"
    backend = keras.backend.backend()
    require(backend == "tensorflow", "KERAS_BACKEND", backend, f"'tensorflow'{remedy}")


def check_model(model: Any) -> keras.Model:
    """Return the model itself, or raise an `InputError` unless all its layers are built."""
    model = require_keras_model(model, "a Keras 3 model, flatbuffer bytes or a path")
    if not all(layer.built for layer in model.layers):
        raise InputError(
            "model", f"{model.name!r} with layers that are not built", "a built model: call it once"
        )
    return model


@contextlib.contextmanager
def float32_compute(model: keras.Model) -> Iterator[None]:
    """Make mixed-precision layers compute in float32, as their weights: TFLite has no half-precision kernels."""
    mixed = [
        (layer, layer.dtype_policy)
        for layer in layers_in(model)
        if layer.variable_dtype == "float32" and layer.compute_dtype in ("float16", "bfloat16")
    ]
    try:
        for layer, _ in mixed:
            layer.dtype_policy = "float32"
        yield
    finally:
        for layer, policy in mixed:
            layer.dtype_policy = policy


class KerasForward:
    """Inference of a Keras model: inputs in, float32 scores `(N, units)` of one output out.

    The model is called with `training=False` inside one function, traced with an open batch size at the first call and
    used as long as the object lives: further calls, new weights and a short last batch need no new trace. Constants of
    layers are those of the trace, so a model that changes otherwise, as by `Normalization.adapt`, needs a new object.
    The model's own `predict_function` and its compiled state do not change.

    Args:
        model: a built Keras 3 model.
        output: name of the output: a key if the model returns a dictionary, and otherwise the name of its layer; None
            for the only one.

    Attributes:
        gives_probabilities: whether the output ends in softmax or sigmoid; None if its last operation does not show it.
        is_regression: whether the model is compiled with the loss of a regression; None if its loss does not show it.
        batch: fixed batch size of the model, or None.
        inputs: inputs of the model, in the order in which it flattens them.
        ordered: whether the model takes them in this order, not by name in a dictionary.
        outputs: names of the outputs; empty for a subclassed model, which does not state them.
    """

    def __init__(self, model: object, output: str | None = None) -> None:
        self.model = check_model(model)
        self.outputs = output_names(self.model)
        if self.outputs and (
            output not in self.outputs if output is not None else len(self.outputs) > 1
        ):
            raise no_such_output(f"{self.model.name!r}", output, self.outputs)
        self.output = output
        self.gives_probabilities = ends_in_probabilities(self.model, output)
        self.is_regression = _is_regression(self.model, output)
        declared = getattr(self.model, "inputs", None)
        if declared:
            shapes = dict(
                zip(_input_names(self.model), (tensor.shape for tensor in declared), strict=True)
            )
            structure = getattr(self.model, "input", None)
            self.inputs: tuple[Input, ...] = tuple(
                Input(name, tuple(tensor.shape[1:]), _dtype(tensor.dtype))
                for name, tensor in zip(shapes, declared, strict=True)
            )
        else:
            structure = _built_structure(self.model)
            shapes = _built_shapes(self.model)
            # A subclassed model was built for inputs of some size, and does not tell their types. Only the channels of
            # a single input are binding, not the length of rows of tokens.
            self.inputs = tuple(
                Input(name, (None,) * (len(shape) - 1), None) for name, shape in shapes.items()
            )
            if len(shapes) == 1:
                [(name, (_, *sides))] = shapes.items()
                if len(sides) > 1 or sides == [1]:
                    self.inputs = (Input(name, (*[None] * (len(sides) - 1), sides[-1]), None),)
        self.ordered = not isinstance(structure, dict)
        self.batch: int | None = next(
            (shape[0] for shape in shapes.values() if shape[0] is not None), None
        )
        self._functions: dict[tuple, Callable] = {}
        self.example_shapes = [
            tuple(side or OPEN_SIDE for side in shape[1:]) for shape in shapes.values()
        ]

    @classmethod
    def of_first_output(cls, model: object) -> Self:
        """Return the inference of a model's only output, or of its first one."""
        return cls(model, next(iter(output_names(check_model(model))), None))

    @classmethod
    def of_output(cls, model: object, output: str | None) -> Self:
        """Return the inference of a named output; without a name, of the first one, though others may matter too."""
        return cls(model, output) if output else cls.of_first_output(model)

    def specs(self, batch: int) -> list["tf.TensorSpec"]:
        """Return the inputs of some examples as TensorFlow traces them; an open side is 64 pixels or tokens."""
        import tensorflow as tf

        shapes = zip(self.inputs, self.example_shapes, strict=True)
        return [
            tf.TensorSpec((batch, *shape), tf.as_dtype(source.dtype or np.float32))
            for source, shape in shapes
        ]

    def __call__(self, images: Inputs) -> np.ndarray:
        """Return the scores of inputs, such as images `(N, H, W, C)`."""
        return self._run(as_inputs(images, self.inputs, ordered=self.ordered))[1]

    def taken(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return arrays in types that the model takes: integers of an unknown type as floats only if it takes none."""
        heads, _ = self._run([array[: self.batch or 1] for array in arrays])
        return [array.astype(head.dtype) for array, head in zip(arrays, heads, strict=True)]

    def _run(self, arrays: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
        """Return the arrays as the model takes them, and its scores."""
        if all(source.dtype is not None for source in self.inputs):
            return arrays, self._traced(arrays)(*arrays)
        try:
            return arrays, self._traced(arrays)(*arrays)
        except InputError:  # about the model
            raise
        except Exception as error:  # of layers and TensorFlow, of many types
            if (floats := _as_floats(arrays)) is not None:  # convolutions take no integers
                with contextlib.suppress(Exception):
                    return floats, self._traced(floats)(*floats)
            shown = listed([_in_words(array) for array in arrays])
            got = f"{shown}, which {self.model.name!r} cannot take ({one_line(error)})"
            raise InputError("images", got, "inputs of other types or shapes") from error

    def call(self, *tensors: Any, training: bool = False) -> Any:
        """Call the model on tensors in the order of `inputs`, by default in inference mode; return all its outputs."""
        return _called(self.model, tensors, training=training)

    def drawn(self, count: int) -> list[np.ndarray]:
        """Return random inputs, the same each time: floats in [0, 1), integers below 256, or empty text.

        If there are tables of embeddings, all numbers are tokens that each table has.
        """
        tables = [one for one in layers_in(self.model) if isinstance(one, keras.layers.Embedding)]
        levels = min((table.input_dim for table in tables), default=256)
        draws = np.random.default_rng(0)
        drawn = []
        for source, shape in zip(self.inputs, self.example_shapes, strict=True):
            typed = Input(source.name, shape, source.dtype or np.dtype(np.float32))
            values = typed.drawn(draws, count, levels=levels)
            tokens = tables and values.dtype.kind == "f"
            drawn.append(np.floor(levels * values) if tokens else values)
        return drawn

    def _traced(self, arrays: list[np.ndarray]) -> Callable:
        key = tuple((array.shape[1:], array.dtype) for array in arrays)
        if key not in self._functions:
            specs = [((self.batch, *shape), dtype) for shape, dtype in key]
            self._functions[key] = on_arrays(self._scores, specs, lambda: self.model.variables)
        return self._functions[key]

    def _scores(self, *tensors: Any) -> Any:
        with from_initial_state(self.model):
            outputs = self.call(*tensors)
        return keras.ops.cast(chosen_output(self.model, outputs, self.output), "float32")


def _as_floats(arrays: Iterable[np.ndarray]) -> list[np.ndarray] | None:
    """Return arrays with integers as float32; None if float32 does not hold one of them."""
    floats = []
    for array in arrays:
        whole = array.dtype.kind in "iu"
        if whole and not holds(np.float32, array):
            return None
        floats.append(array.astype(np.float32) if whole else array)
    return floats


def _in_words(array: np.ndarray) -> str:
    sides = ", ".join(map(str, ("N", *array.shape[1:])))
    return f"{'text' if array.dtype.kind == 'O' else array.dtype} ({sides})"


def require_finite(weights: Iterable[keras.Variable]) -> None:
    """Raise an `InputError` that names the first variable with NaN or infinity; other types than floats pass.

    Example:
        >>> import numpy as np
        >>> require_finite([keras.Variable(np.float32([1, np.nan]), name="kernel")])
        Traceback (most recent call last):
        tfaudit.errors.InputError: weights: got NaN or infinity in 'kernel', expected finite numbers; a training that
        diverges needs a lower learning rate
    """
    for weight in weights:
        values = keras.ops.convert_to_numpy(weight)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            expected = "finite numbers; a training that diverges needs a lower learning rate"
            raise InputError("weights", f"NaN or infinity in {weight.path!r}", expected)


def _called(model: keras.Model, tensors: Sequence[Any], *, training: bool = False) -> Any:
    """Call a model on tensors in the order in which it flattens its inputs, by default in inference mode."""
    if getattr(model, "inputs", None):
        structure = getattr(model, "input", None)
        nested = structure is not None and keras.tree.is_nested(structure)
        values = keras.tree.pack_sequence_as(structure, list(tensors)) if nested else tensors[0]
        return model(values, training=training)
    if isinstance(_built_structure(model), dict):
        named = dict(zip(_built_shapes(model), tensors, strict=True))
        return model(named, training=training)
    return model(tensors[0] if len(tensors) == 1 else list(tensors), training=training)


def layers_by_name(
    model: keras.Model, names: Iterable[str] | str, argument: str
) -> dict[str, keras.Layer]:
    """Return layers of a model, at any depth, by their names; raise an `InputError` for an unknown name."""
    known = {layer.name: layer for layer in layers_in(model, itself=False)}
    wanted = [names] if isinstance(names, str) else list(dict.fromkeys(names))
    if unknown := [name for name in wanted if name not in known]:
        expected = f"names of layers, such as {listed(list(known))}"
        raise InputError(argument, listed(unknown), expected)
    return {name: known[name] for name in wanted}


def output_names(model: keras.Model) -> tuple[str, ...]:
    """Return the names of a model's outputs: dictionary keys or, without a dictionary, layer names; none if subclassed.

    >>> inputs = keras.Input((4,))
    >>> output_names(keras.Model(inputs, {"kind": keras.layers.Dense(3)(inputs), "age": keras.layers.Dense(1)(inputs)}))
    ('kind', 'age')
    """
    structure = getattr(model, "output", None)
    if isinstance(structure, dict):
        return tuple(map(str, structure))
    if not getattr(model, "outputs", None):
        return ()
    names = list(getattr(model, "output_names", None) or [])
    count = len(model.outputs)
    return tuple(names) if len(names) == count == len(set(names)) else tuple(map(str, range(count)))


def chosen_output(model: keras.Model, outputs: Any, output: str | None) -> Any:
    """Return one of the outputs that a model returned; raise an `InputError` if it is unclear which."""
    if isinstance(outputs, dict):
        named = {str(name): value for name, value in outputs.items()}
    elif isinstance(outputs, list | tuple):
        names = output_names(model) or tuple(map(str, range(len(outputs))))
        named = dict(zip(names, outputs, strict=True))
    else:
        return outputs
    if output is None and len(named) == 1:
        return next(iter(named.values()))
    if output not in named:
        raise no_such_output(f"{model.name!r}", output, named)
    return named[output]


def _input_names(model: keras.Model) -> list[str]:
    structure = getattr(model, "input", None)
    keys = (
        {id(tensor): str(key) for key, tensor in structure.items()}
        if isinstance(structure, dict)
        else {}
    )
    return [keys.get(id(tensor), tensor.name) for tensor in model.inputs]


def _dtype(name: str) -> np.dtype:
    return np.dtype(object if name == "string" else name)


def _built_structure(model: keras.Model) -> Any:
    config = model.get_build_config() or {}
    shapes = config.get("shapes_dict") or {}
    return next(iter(shapes.values())) if len(shapes) == 1 else config.get("input_shape")


def _built_shapes(model: keras.Model) -> dict[str, tuple[int | None, ...]]:
    """Return the shapes (including the batch) that a subclassed model was built for, by input name."""
    structure = _built_structure(model)
    named = structure if isinstance(structure, dict) else {"inputs": structure}
    if isinstance(structure, list | tuple) and any(
        isinstance(part, list | tuple) for part in structure
    ):
        named = {str(i): part for i, part in enumerate(structure)}
    valid = bool(named) and all(
        isinstance(shape, tuple | list)
        and shape
        and all(side is None or isinstance(side, int) for side in shape)
        for shape in named.values()
    )
    if not valid:
        expected = "one argument of inputs: an array, a dictionary or a list of arrays"
        raise InputError("model", f"{model.name!r} without shapes of its inputs", expected)
    return {str(name): tuple(shape) for name, shape in named.items()}


_REGRESSION = re.compile(
    "mean_?squared|mean_?absolute|^(mse|mae|mape|msle)$|huber|log_?cosh|poisson", re.IGNORECASE
)
_CLASSIFICATION = re.compile("cross_?entropy|hinge|focal", re.IGNORECASE)


def _is_regression(model: keras.Model, output: str | None) -> bool | None:
    loss = getattr(model, "loss", None) if getattr(model, "compiled", False) else None
    if isinstance(loss, dict):
        loss = loss.get(output) if output is not None else next(iter(loss.values()), None)
    elif isinstance(loss, list | tuple):
        names = output_names(model)
        loss = loss[names.index(output)] if output in names else next(iter(loss), None)
    name = loss if isinstance(loss, str) else getattr(loss, "__name__", type(loss).__name__)
    if _REGRESSION.search(name):
        return True
    return False if _CLASSIFICATION.search(name) else None


def ends_in_probabilities(model: keras.Model, output: str | None = None) -> bool | None:
    """Return whether an output ends in softmax or sigmoid; None if its last operation does not show it.

    Operations that return values as they are, such as `Reshape` or `Activation("linear")`, do not count.

    >>> layers = [keras.Input((3,)), keras.layers.Dense(1, "sigmoid"), keras.layers.Activation("linear")]
    >>> ends_in_probabilities(keras.Sequential(layers))
    True
    """
    if output_names(model):
        structure = getattr(model, "output", None)  # none in a sequential model
        ends = structure if isinstance(structure, dict) else model.outputs
        last = _last_operation(chosen_output(model, ends, output))
    else:
        last = getattr(model, "layers", [None])[-1] if isinstance(model, keras.Sequential) else None
    activation = getattr(last, "activation", None)
    if activation in (keras.activations.softmax, keras.activations.sigmoid):
        return True
    if isinstance(last, keras.layers.Softmax) or gives_probabilities(last):
        return True
    is_linear = isinstance(last, keras.layers.Dense) and activation is keras.activations.linear
    return False if is_linear else None


def _last_operation(tensor: Any) -> Any:
    """Return the last operation before a symbolic tensor that changes values, also inside nested models."""
    operation, sources, place = making_call(tensor)
    if isinstance(operation, keras.Model) and output_names(operation):
        inner = _last_operation(operation.outputs[place])
        if not isinstance(inner, keras.layers.InputLayer):
            return inner
        inputs = [maker(source) for source in operation.inputs]
        return _last_operation(sources[inputs.index(inner)])
    unchanged = len(sources) == 1 and _returns_values(operation, sources[0])
    return _last_operation(sources[0]) if unchanged else operation


def _returns_values(operation: Any, source: Any) -> bool:
    """Return whether an operation returns values as they are, in another shape or precision or not: it is tried."""
    if getattr(operation, "weights", None):
        return False
    shape = [side or 2 for side in source.shape]
    # Every precision holds these values, and they are not only those of a sigmoid.
    values = ((np.arange(np.prod(shape)) * 37 % 256 - 128) / 64).reshape(shape)
    try:
        returned = operation(keras.ops.convert_to_tensor(values, source.dtype))
        found = keras.ops.convert_to_numpy(keras.ops.cast(returned, "float32"))
    except Exception:  # of layers of the user, or for arguments that the call in the model has
        return False
    return np.array_equal(found.ravel(), values.ravel())
