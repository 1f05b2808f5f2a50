"""Compression of Keras 3 models, and its costs.

- Pruning: `prune` (one-shot, in place), the callbacks `Pruning` (gradual, inside `model.fit`), `HoldMasks` (constant
  masks) and `Rewind` (back to early weights); `PolynomialDecay` and `ConstantSparsity` are schedules; `sparsity` counts
  zeros, `sparsity_at` converts a compression ratio, and `TFMOT` selects weights as TF-MOT does. The methods are
  functions in `tfaudit.compress.pruning.scores`.
- Remedies: the callback `Distillation` trains a compressed model towards the dense one, so that it forgets less.
- Memory: `MicroBatches` trains with batches that are larger than the memory.
- Statistics: `recalibrate_batch_norm` estimates the statistics of BatchNormalization again after a model was changed.
- Shrinking: `shrink` removes channels that contribute nothing and returns a `Shrunk` model with the same outputs.
- TensorFlow Lite: `quantize` converts a model to a flatbuffer; `predict` runs Keras models and flatbuffers.
  `quantization_aware` copies a model for training towards int8; `quantization_sensitivity` measures the cost of int8
  per layer (`QuantizationSensitivity`). `as_flatbuffer` makes a float32 file, on JAX without TensorFlow.
- Comparison: `compare_models` and `gate_models` audit models on data in one call, `predictions_of` only predicts.
- Costs: `cost` measures size, operations and latency of one model (`Cost`), and `measure_variants` of several models;
  `counts` only counts, and `latencies` only times.
"""

from tfaudit.runtime.lazy_names import lazy_names

lazy_names(
    __name__,
    {
        "prune": "pruning.one_shot",
        "Pruning": "pruning.pruning",
        "HoldMasks": "pruning.hold_masks",
        "Rewind": "pruning.rewind",
        "PolynomialDecay": "pruning.schedules",
        "ConstantSparsity": "pruning.schedules",
        "TFMOT": "pruning.tfmot_masks",
        "sparsity": "pruning.sparsity",
        "sparsity_at": "pruning.sparsity",
        "MicroBatches": "micro_batches",
        "recalibrate_batch_norm": "batch_norm",
        "quantize": "litert.quantize",
        "ConversionError": "litert.conversion_error",
        "as_flatbuffer": "litert.quantize",
        "predict": "litert.inference",
        "latencies": "litert.latency",
        "counts": "counts",
        "Counts": "counts",
        "compare_models": "model_comparison",
        "gate_models": "model_comparison",
        "predictions_of": "model_comparison",
    },
)
