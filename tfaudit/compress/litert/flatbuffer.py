"""A TensorFlow Lite flatbuffer, run by LiteRT without TensorFlow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from ai_edge_litert.interpreter import Interpreter

from tfaudit.compress.input_images import as_input
from tfaudit.errors import InputError
from tfaudit.quiet import captured_output

__all__ = ["Flatbuffer"]

_RESHAPING = {"DEQUANTIZE", "QUANTIZE", "CAST", "RESHAPE"}


class Flatbuffer:
    """Scores of a flatbuffer, float32 `(N, units)`; integer inputs and outputs go through their scale and zero point.

    Args:
        content: The flatbuffer.
        threads: Threads of the interpreter.

    Attributes:
        gives_probabilities: Whether it ends in softmax or sigmoid; `None` where its end does not tell.
        batch: The batch size that is fixed in it, or `None` where it can be resized.

    Raises:
        InputError: Not a flatbuffer, or one with several inputs or outputs.
    """

    def __init__(self, content: bytes, *, threads: int = 1) -> None:
        if threads < 1:
            raise InputError("threads", str(threads), "1 or more")
        try:
            with captured_output():  # LiteRT announces its delegate on stderr.
                self._interpreter = Interpreter(model_content=bytes(content), num_threads=threads)
                self._interpreter.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            reason = next(iter(str(error).strip().splitlines()), "empty")
            raise InputError(
                f"model: {len(content)} bytes that LiteRT cannot run as a flatbuffer ({reason})"
            ) from error
        inputs, outputs = self._interpreter.get_input_details(), self._interpreter.get_output_details()
        for name, tensors in (("input", inputs), ("output", outputs)):
            if len(tensors) != 1:
                raise InputError("model", f"the flatbuffer has {len(tensors)} {name}s", "one")
        self._input, self._output = inputs[0], outputs[0]
        # Old converters leave the signature out; then the shape is all there is, and it is fixed.
        signature = self._input["shape_signature"]
        signature = signature if len(signature) else self._input["shape"]
        sides = [None if side < 0 else int(side) for side in signature]
        self.batch, self.image_shape = sides[0], tuple(sides[1:])
        self.gives_probabilities = self._ends_in_probabilities()

    def __call__(self, images: np.ndarray) -> np.ndarray:
        """Scores of images `(N, H, W, C)`."""
        self.run(images)
        return self._dequantized(self._interpreter.get_tensor(self._output["index"]))

    def run(self, images: np.ndarray) -> Callable[[], None]:
        """Runs the network on images `(N, H, W, C)`; returns what runs it on them again, and does nothing else.

        Raises:
            InputError: The images do not fit, or LiteRT cannot run the network on them.
        """
        images = self._quantized(images)
        index = self._input["index"]
        try:
            if tuple(self._interpreter.get_input_details()[0]["shape"]) != images.shape:
                self._interpreter.resize_tensor_input(index, images.shape)
                self._interpreter.allocate_tensors()
            self._interpreter.set_tensor(index, images)
            self._interpreter.invoke()
        except RuntimeError as error:  # LiteRT prepares some operators only when it knows the shapes.
            reason = next(iter(str(error).splitlines()), "no reason given")
            raise InputError(f"model: LiteRT cannot run the flatbuffer on {len(images)} images ({reason})") from error
        return self._interpreter.invoke

    def _quantized(self, images: np.ndarray) -> np.ndarray:
        dtype = np.dtype(self._input["dtype"])
        scale, zero_point = self._input["quantization"]
        if not scale:
            return as_input(images, self.image_shape, dtype)
        images = as_input(images, self.image_shape, np.dtype(np.float32))
        bounds = np.iinfo(dtype)
        return np.clip(np.rint(images / scale) + zero_point, bounds.min, bounds.max).astype(dtype)

    def _dequantized(self, scores: np.ndarray) -> np.ndarray:
        scale, zero_point = self._output["quantization"]
        scores = scores.astype(np.float32)
        return (scores - zero_point) * np.float32(scale) if scale else scores

    def _ends_in_probabilities(self) -> bool | None:
        # By operator and not by value: an int8 softmax over many classes rounds so many of them to 0 that its rows sum
        # to anything. LiteRT offers the list of operators under this private name only.
        producers = {
            output: operator
            for operator in self._interpreter._get_ops_details()
            if operator["op_name"] != "DELEGATE"  # stands for operators that are listed too
            for output in operator["outputs"]
        }
        operator = producers.get(self._output["index"])
        while operator is not None and operator["op_name"] in _RESHAPING:
            operator = producers.get(operator["inputs"][0])
        if operator is None:
            return None
        return {"SOFTMAX": True, "LOGISTIC": True, "FULLY_CONNECTED": False}.get(operator["op_name"])
