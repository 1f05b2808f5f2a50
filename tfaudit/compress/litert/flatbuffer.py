"""Inference with a TensorFlow Lite flatbuffer in LiteRT, without TensorFlow."""

import contextlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from tfaudit.compress.input_range import is_in_other_range, outside
from tfaudit.compress.litert.operators import main_operators
from tfaudit.compress.litert.run_state import run_state
from tfaudit.compress.model_inputs import (
    Input,
    Inputs,
    as_inputs,
    length_of,
    no_such_output,
    places,
)
from tfaudit.datasets.structure import mapped
from tfaudit.errors import InputError, Notice, listed, one_line, require_least, require_one_of
from tfaudit.runtime.captured_output import captured_output
from tfaudit.study.quantization import KERNELS

_RESHAPING = {"DEQUANTIZE", "QUANTIZE", "CAST", "RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TRANSPOSE"}


class Flatbuffer:
    """Inference of a flatbuffer: inputs in, float32 scores `(N, units)` of one output out.

    Integer inputs and outputs with a scale are converted with their scale and zero point. Inputs and outputs are named
    as in the file's signature. What the file keeps from one run to the next, such as the state of an LSTM, begins anew
    with every run. If LiteRT cannot run the file with its default delegate, XNNPACK, it runs without, and a `Notice`
    says so.

    Args:
        content: the bytes of the file.
        threads: number of LiteRT threads.
        output: name of the output; ignored if there is only one, whose name converters may have changed.
        kernels: which of `KERNELS` run its operators.
        observed: whether to keep every tensor of a run for `tensor`; then on one thread and without delegates.
        falls_back: whether to run a file without delegates if LiteRT cannot run it with them.

    Attributes:
        model: the bytes of the file.
        output: name of the output that was asked for.
        gives_probabilities: whether the output ends in softmax or sigmoid; None if its last operator does not show it.
        is_regression: always None, since a file does not show it.
        batch: its fixed batch size, or None if it can be resized; 1 for a file of any batch size that keeps a state,
            which belongs to one example.
        inputs: its inputs, in the order of their names or, for a file of `quantize`, of the model's inputs.
        ordered: whether this is the order of the model's inputs, which other converters do not keep.
        outputs: names of its outputs.

    Raises:
        InputError: the content is not a flatbuffer, or has no such output; or there are no such kernels.
    """

    is_regression: bool | None = None

    def __init__(
        self,
        content: bytes,
        *,
        threads: int = 1,
        output: str | None = None,
        kernels: str = "default",
        observed: bool = False,
        falls_back: bool = True,
    ) -> None:
        require_least(1, threads=threads)
        require_one_of("kernels", kernels, KERNELS)
        self.model = bytes(content)
        self.output = output
        self._options: dict[str, Any] = {"num_threads": threads, **_resolver(kernels)}
        if observed:
            self._options = {"experimental_preserve_all_tensors": True, **_resolver("plain")}
        self._falls_back = falls_back and not observed and kernels == "default"
        self._has_run = False
        try:
            self._start()
            self._state = run_state(self.model)
            self._keeps_state = self._state.tensors or self._state.variables
            self._operators = main_operators(self.model)
            self._read(output)
        except InputError:
            raise
        except (ValueError, RuntimeError) as error:  # for example, tensor names that are not UTF-8
            got = f"{len(content)} bytes that LiteRT cannot run ({one_line(error)})"
            raise InputError("model", got, "a TensorFlow Lite flatbuffer") from error

    def _start(self) -> None:
        """Begin anew. `reset_all_variables` clears the state of fused operators, but no variable that is a resource."""
        self._interpreter = Interpreter(model_content=self.model, **self._options)

    def _read(self, output: str | None) -> None:
        """Read the inputs and outputs of the flatbuffer."""
        details = self._interpreter.get_input_details()
        self._order = [detail["index"] for detail in details]
        self._details = self._named("inputs", details)
        outputs = self._named("outputs", self._interpreter.get_output_details())
        self.outputs = tuple(outputs)
        self._output = _chosen(outputs, output)
        shapes = [detail["shape"] for detail in self._details.values()]
        if not shapes or not outputs or not all(len(shape) and np.all(shape) for shape in shapes):
            raise InputError(
                "model",
                "a flatbuffer without inputs of images, or without outputs",
                "one with both",
            )
        sides = {name: _sides(detail) for name, detail in self._details.items()}
        self.batch: int | None = next(
            (shape[0] for shape in sides.values() if shape[0] is not None),
            1 if self._keeps_state else None,
        )
        self.inputs = tuple(
            Input(name, tuple(shape[1:]), _dtype(self._details[name]))
            for name, shape in sides.items()
        )
        self.ordered = len(sides) == 1 or places([*sides]) is not None
        self.gives_probabilities = self._ends_in_probabilities()

    def __call__(self, images: Inputs) -> np.ndarray:
        """Return the scores of inputs, such as images `(N, H, W, C)`."""
        if self._output is None:
            raise no_such_output("a flatbuffer", None, self.outputs)
        if self._state.draws:
            got = f"a flatbuffer that draws random numbers ({listed(self._state.draws)})"
            expected = (
                "one that gives an example the same scores each time, converted in inference mode"
            )
            raise InputError("model", got, expected)
        if not self._state.variables:  # which any example of a batch may change
            try:
                return self._scores(self._output, images)
            except CannotRunError:
                if self.batch or length_of(images) == 1:
                    raise
            # Some files leave the batch open at their inputs, and fix it inside
            # (https://github.com/tensorflow/tensorflow/issues/49183).
            self.batch = 1
        return self._one_by_one(self._output, images)

    def _one_by_one(self, output: dict[str, Any], images: Inputs) -> np.ndarray:
        """Return the scores of examples that run apart from each other: each one fills a batch alone."""
        size = self.batch or 1
        parts = [
            mapped(lambda array, row=row: np.repeat(array[row : row + 1], size, axis=0), images)  # type: ignore[misc]
            for row in range(length_of(images))
        ]
        return np.concatenate([self._scores(output, part)[:1] for part in parts])

    def _scores(self, output: dict[str, Any], images: Inputs) -> np.ndarray:
        self.run(images)
        scores = self._dequantized(output)
        if scores.shape[:1] != (count := length_of(images),):
            got = f"scores of shape {scores.shape} for {count} images"
            raise CannotRunError("model", got, "(N, classes)")
        return scores

    def all_outputs(self, images: Inputs) -> dict[str, np.ndarray]:
        """Return the scores of every output, by its name."""
        self.run(images)
        outputs = self._named("outputs", self._interpreter.get_output_details())
        return {name: self._dequantized(detail) for name, detail in outputs.items()}

    def run(self, images: Inputs) -> Callable[[], None]:
        """Run the network on inputs, and return a function that just runs it on them again.

        Raise an `InputError` if the inputs do not fit, or LiteRT cannot run the network on them.
        """
        arrays = self.arrays(images)
        if self._keeps_state:
            self._start()
        # LiteRT prints a message about its delegate when it first allocates tensors.
        silent = contextlib.nullcontext() if self._has_run else captured_output()
        try:
            with silent:
                feed(self._interpreter, arrays)
        except RuntimeError as error:
            if not (self._falls_back and self._runs_plain(arrays)):
                count = len(next(iter(arrays.values())))
                got = f"a flatbuffer that LiteRT cannot run on {count} images ({one_line(error)})"
                raise CannotRunError("model", got, "one that runs") from error
            text = f"LiteRT cannot run the model with its delegate XNNPACK, and runs it without ({one_line(error)})"
            warnings.warn(Notice(text), stacklevel=2)
        self._has_run = True
        return self._interpreter.invoke

    def _runs_plain(self, arrays: Mapping[int, np.ndarray]) -> bool:
        """Return whether the network runs without delegates; if so, it does from now on."""
        with_delegates = self._options
        self._options = with_delegates | _resolver("plain")
        self._start()
        try:
            feed(self._interpreter, arrays)
        except RuntimeError:
            self._options = with_delegates
            self._start()
            return False
        self._falls_back = False
        return True

    def tensor(self, index: int) -> np.ndarray:
        """Return a tensor of the last run of an observed network, by its index."""
        return self._interpreter.get_tensor(index)  # type: ignore[no-any-return]

    def arrays(self, images: Inputs) -> dict[int, np.ndarray]:
        """Return what an interpreter of this file takes, by tensor index and in the order of the file's inputs."""
        arrays = {
            detail["index"]: _quantized(array, detail)
            for array, detail in zip(self._as_inputs(images), self._details.values(), strict=True)
        }
        return {index: arrays[index] for index in self._order}

    def _as_inputs(self, images: Inputs) -> list[np.ndarray]:
        return as_inputs(images, self.inputs, ordered=self.ordered)

    def sources(self) -> list[tuple[int, Input]]:
        """Return the inputs with the indices of their tensors."""
        return [
            (detail["index"], source)
            for detail, source in zip(self._details.values(), self.inputs, strict=True)
        ]

    def check_range(self, images: Inputs) -> None:
        """Raise an `InputError` if images have another range than those that an integer network was calibrated with.

        Values outside the range are clipped: a network calibrated with pixels in [0, 1] sees an image in 0 to 255 as
        white. If the range is far too wide, values round to a few levels: pixels in [0, 1] use two of the 256 levels in
        0 to 255. A few outliers do not matter; see `is_in_other_range`.
        """
        for array, (low, high) in self._in_ranges(images):
            if is_in_other_range(array, low, high):
                got = f"values from {array.min():g} to {array.max():g}"
                expected = f"{low:g} to {high:g}, the range of the images that this integer model was calibrated with"
                raise InputError("images", got, expected)

    def outside(self, images: Inputs) -> tuple[int, int]:
        """Return the number of values outside the calibrated range of an integer network, and of all values."""
        counts = [
            (int(outside(array, *ends).sum()), array.size)
            for array, ends in self._in_ranges(images)
        ]
        return sum(beyond for beyond, _ in counts), sum(size for _, size in counts)

    def _in_ranges(self, images: Inputs) -> list[tuple[np.ndarray, tuple[float, float]]]:
        """Return the float inputs whose calibrated range is known, with these ranges."""
        ranges = self._ranges()
        return [
            (array, ranges[source.name])
            for array, source in zip(self._as_inputs(images), self.inputs, strict=True)
            if source.name in ranges and array.dtype.kind == "f" and array.size
        ]

    def _ranges(self) -> dict[str, tuple[float, float]]:
        """Return the calibrated range of every float input that is quantized first, and of every integer input."""
        tensors = {tensor["index"]: tensor for tensor in self._interpreter.get_tensor_details()}
        quantized = {
            operator.inputs[0]: operator.outputs[0]
            for operator in self._operators
            if operator.kind == "QUANTIZE"
        }
        ranges = {}
        for name, detail in self._details.items():
            first = tensors.get(quantized.get(detail["index"]), detail)
            scale, zero_point = first["quantization"]
            if scale:
                bounds = np.iinfo(first["dtype"])
                low, high = (scale * (bound - zero_point) for bound in (bounds.min, bounds.max))
                ranges[name] = float(low), float(high)
        return ranges

    def _named(self, kind: str, details: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return the tensors by their names in the file's signature or, without one, by their own names."""
        by_index = {detail["index"]: detail for detail in details}
        names: dict[str, int] = {}
        if len(signatures := self._interpreter.get_signature_list()) == 1:
            runner = self._interpreter.get_signature_runner(*signatures)
            described = (
                runner.get_input_details() if kind == "inputs" else runner.get_output_details()
            )
            names = {name: detail["index"] for name, detail in described.items()}
        if set(names.values()) != set(by_index):
            own = {detail["name"]: detail for detail in details}
            if len(own) < len(details):
                raise InputError(
                    "model", f"a flatbuffer with {kind} of one name", "different names"
                )
            return own
        order = places([*names]) or range(len(names))
        return {
            name: by_index[index]
            for _, (name, index) in sorted(zip(order, names.items(), strict=True))
        }

    def _dequantized(self, detail: dict[str, Any]) -> np.ndarray:
        scale, zero_point = detail["quantization"]
        scores = self._interpreter.get_tensor(detail["index"]).astype(np.float32)
        return (scores - zero_point) * np.float32(scale) if scale else scores

    def _ends_in_probabilities(self) -> bool | None:
        if self._output is None:
            return None
        # Judged by operator, not by value: an int8 softmax over many classes rounds many of them to 0, and its rows do
        # not sum to 1.
        producers = {
            output: operator for operator in self._operators for output in operator.outputs
        }
        operator = producers.get(self._output["index"])
        while operator is not None and operator.kind in _RESHAPING:
            operator = producers.get(operator.inputs[0])
        return operator and {"SOFTMAX": True, "LOGISTIC": True, "FULLY_CONNECTED": False}.get(
            operator.kind
        )


class CannotRunError(InputError):
    """LiteRT cannot run a flatbuffer on a batch of this size."""


def _chosen(outputs: Mapping[str, dict[str, Any]], name: str | None) -> dict[str, Any] | None:
    """Return the only output, or the one of this name; None if there are several and none is named."""
    if len(outputs) == 1:
        return next(iter(outputs.values()))
    if name is not None and name not in outputs:
        raise no_such_output("a flatbuffer", name, outputs)
    return outputs.get(str(name))


def feed(interpreter: Interpreter, arrays: Mapping[int, np.ndarray]) -> None:
    """Run a network on arrays, given by tensor index.

    Tensors are allocated for the shapes of the arrays: some networks cannot be run at all on the sides of one that
    stand in a file for open ones. Raise a `RuntimeError` if LiteRT cannot run it on them.
    """
    shapes = {detail["index"]: tuple(detail["shape"]) for detail in interpreter.get_input_details()}
    for index, array in arrays.items():
        if array.shape != shapes[index]:
            interpreter.resize_tensor_input(index, array.shape)
    interpreter.allocate_tensors()
    for index, array in arrays.items():
        interpreter.set_tensor(index, array)
    interpreter.invoke()


def without_delegates(content: bytes) -> Interpreter:
    """Return an interpreter without delegates, which hide the tensors between operators."""
    return Interpreter(model_content=content, num_threads=1, **_resolver("plain"))


def _resolver(kernels: str) -> dict[str, Any]:
    """Return the option of an interpreter that runs these of `KERNELS`."""
    return {"experimental_op_resolver_type": getattr(OpResolverType, KERNELS[kernels])}


def _sides(detail: dict[str, Any]) -> list[int | None]:
    signature = detail["shape_signature"]  # Old converters write none; the shape is then fixed.
    return [
        None if side < 0 else int(side)
        for side in (signature if len(signature) else detail["shape"])
    ]


def _dtype(detail: dict[str, Any]) -> np.dtype:
    """Return the type that callers use: float32 for integers with a scale."""
    kind = np.dtype(detail["dtype"])
    if kind.kind in "OSU":
        return np.dtype(object)
    return np.dtype(np.float32) if detail["quantization"][0] else kind


def _quantized(array: np.ndarray, detail: dict[str, Any]) -> np.ndarray:
    scale, zero_point = detail["quantization"]
    if not scale:
        return array
    bounds = np.iinfo(detail["dtype"])
    return np.clip(np.rint(array / scale) + zero_point, bounds.min, bounds.max).astype(
        detail["dtype"]
    )
