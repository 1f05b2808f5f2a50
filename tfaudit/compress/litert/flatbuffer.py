"""Inference of a TensorFlow Lite flatbuffer in LiteRT, without TensorFlow."""

from collections.abc import Callable

import numpy as np
from ai_edge_litert.interpreter import Interpreter

from tfaudit.compress.input_images import as_input
from tfaudit.errors import InputError, one_line, require
from tfaudit.quiet import captured_output

_RESHAPING = {"DEQUANTIZE", "QUANTIZE", "CAST", "RESHAPE"}


class Flatbuffer:
    """Inference of a flatbuffer: images in, float32 scores `(N, units)` out.

    Integer inputs and outputs are converted with their scale and zero point.

    Attributes:
        gives_probabilities: whether it ends in softmax or sigmoid; None if its last operator does not show it.
        batch: its fixed batch size, or None if it can be resized.
        image_shape: shape of one image; None for an open side.

    Raises:
        InputError: not a flatbuffer, or one with several inputs or outputs.
    """

    def __init__(self, content: bytes, *, threads: int = 1) -> None:
        require(threads >= 1, "threads", threads, "1 or more")
        try:
            with captured_output():  # LiteRT prints a message about its delegate to stderr.
                self._interpreter = Interpreter(model_content=bytes(content), num_threads=threads)
                self._interpreter.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            got = f"{len(content)} bytes that LiteRT cannot run ({one_line(error)})"
            raise InputError("model", got, "a TensorFlow Lite flatbuffer") from error
        inputs, outputs = self._interpreter.get_input_details(), self._interpreter.get_output_details()
        for name, tensors in (("input", inputs), ("output", outputs)):
            if len(tensors) != 1:
                raise InputError("model", f"a flatbuffer with {len(tensors)} {name}s", "one")
        self._input, self._output = inputs[0], outputs[0]
        signature = self._input["shape_signature"]  # Old converters write none; the shape is then fixed.
        sides = [None if side < 0 else int(side) for side in (signature if len(signature) else self._input["shape"])]
        self.batch, self.image_shape = sides[0], tuple(sides[1:])
        self.gives_probabilities = self._ends_in_probabilities()

    def __call__(self, images: np.ndarray) -> np.ndarray:
        """Return the scores of images `(N, H, W, C)`."""
        self.run(images)
        return self._dequantized(self._interpreter.get_tensor(self._output["index"]))

    def run(self, images: np.ndarray) -> Callable[[], None]:
        """Run the network on images `(N, H, W, C)`, and return a function that only runs it on them again.

        Raise an `InputError` if the images do not fit, or LiteRT cannot run the network on them.
        """
        images, index = self._quantized(images), self._input["index"]
        try:
            if tuple(self._interpreter.get_input_details()[0]["shape"]) != images.shape:
                self._interpreter.resize_tensor_input(index, images.shape)
                self._interpreter.allocate_tensors()
            self._interpreter.set_tensor(index, images)
            self._interpreter.invoke()
        except RuntimeError as error:  # LiteRT prepares some operators only once it knows the shapes.
            got = f"a flatbuffer that LiteRT cannot run on {len(images)} images ({one_line(error)})"
            raise InputError("model", got, "one that runs") from error
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
        # By operator, not by value: an int8 softmax over many classes rounds many of them to 0, and its rows do not sum
        # to 1. LiteRT has the list of operators under this private name only.
        producers = {
            output: operator
            for operator in self._interpreter._get_ops_details()
            if operator["op_name"] != "DELEGATE"  # stands for operators that are also in the list
            for output in operator["outputs"]
        }
        operator = producers.get(self._output["index"])
        while operator is not None and operator["op_name"] in _RESHAPING:
            operator = producers.get(operator["inputs"][0])
        return operator and {"SOFTMAX": True, "LOGISTIC": True, "FULLY_CONNECTED": False}.get(operator["op_name"])
