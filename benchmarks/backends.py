"""What works with Keras on TensorFlow, JAX and torch, and how far results differ from those on TensorFlow.

    python benchmarks/backends.py [BACKEND ...]

Every command runs in a process of its backend, with the same seeded images and initial weights. A cell of the table is
the largest absolute difference from the same command on TensorFlow, among weights, probabilities or other figures, or
the line of the error. A backend needs its library: `pip install jax torch`.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np

import tfaudit

BACKENDS = ("tensorflow", "jax", "torch")
DRAWS = np.random.default_rng(0)
LABELS = DRAWS.integers(0, 3, 360)
IMAGES = DRAWS.random((360, 8, 8, 1), np.float32) + LABELS[:, None, None, None] / 4
TRAINING, HELD_OUT = (IMAGES[:256], LABELS[:256]), (IMAGES[256:], LABELS[256:])


def network(seed: int = 0) -> keras.Model:
    """Return a compiled network with BatchNormalization, whose weights depend on the seed alone.

    It is smooth: at the kink of a ReLU, rounding would change a gradient.
    """
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Conv2D(6, 3, use_bias=False, name="conv"),
            keras.layers.BatchNormalization(name="norm"),
            keras.layers.Activation("tanh", name="tanh"),
            keras.layers.Flatten(name="flat"),
            keras.layers.Dense(3, name="scores"),
        ],
        name="net",
    )
    draws = np.random.default_rng(seed)
    for kernel in (model.get_layer("conv").kernel, model.get_layer("scores").kernel):
        kernel.assign(draws.normal(0, 0.2, kernel.shape).astype(np.float32))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.02, momentum=0.9, nesterov=True), loss)
    return model


def trained(*callbacks: keras.callbacks.Callback, seed: int = 0, epochs: int = 3) -> keras.Model:
    """Return the network after some epochs with callbacks."""
    model = network(seed)
    model.fit(*TRAINING, 32, epochs, shuffle=False, verbose=0, callbacks=list(callbacks))
    return model


def weights(model: keras.Model) -> np.ndarray:
    """Return all weights as a vector."""
    return np.concatenate([values.ravel() for values in model.get_weights()])


def predict() -> np.ndarray:
    """Return the probabilities of three classes."""
    return tfaudit.predict(network(), IMAGES, k=3).probabilities


def compare() -> np.ndarray:
    """Return the changes of accuracy that a gate judges."""
    saved = Path("model.keras")
    network(1).save(saved)
    models = {"other": network(1), "saved": saved}
    comparisons = tfaudit.compare_models(network(), models, HELD_OUT)
    return np.array([comparison.summary()["change_pp"] for comparison in comparisons.values()])


def gate() -> np.ndarray:
    """Return whether the same model passes and another one does not."""
    verdicts = tfaudit.gate_models(network(), {"same": network(), "other": network(1)}, HELD_OUT)
    return np.array([verdict.outcome == "pass" for verdict in verdicts.values()], float)


def class_audit() -> np.ndarray:
    """Return the figures of every epoch, and the weights."""
    audit = tfaudit.ClassAudit(HELD_OUT, baseline=network(1))
    model = trained(audit)
    history = model.history.history
    audited = [history[name] for name in sorted(history) if name.startswith("val_")]
    return np.concatenate([*audited, audit.history_frame()["recall"], weights(model)])


def prune() -> np.ndarray:
    """Return the weights after one-shot pruning, and their zeros."""
    model = network()
    tfaudit.prune(model, 0.7, scope="global")
    return np.append(weights(model), tfaudit.sparsity(model)["zeros"])


def shrink() -> np.ndarray:
    """Return the weights of the network without its pruned channels."""
    model = network()
    tfaudit.prune(model, 0.5, method="l1", granularity="channel", axis=-1, layers=["conv"])
    return weights(tfaudit.shrink(model).model)


def pruning(schedule: object = 0.8, **settings: object) -> np.ndarray:
    """Return weights and masks after pruning in `fit`, which prunes more in a second fit of the same callback."""
    callback = tfaudit.Pruning(schedule, **settings)
    model = trained(callback)
    reached = model.history.history["sparsity"]
    masks = [mask.ravel() for mask in callback.masks().values()]
    model.fit(*TRAINING, 32, 1, shuffle=False, verbose=0, callbacks=[callback])
    return np.concatenate([weights(model), *masks, reached])


def tfmot_schedule() -> np.ndarray:
    """Return the same for a schedule of TF-MOT, global ranking and TF-MOT's rule for ties."""
    import tensorflow_model_optimization as tfmot

    return pruning(
        tfmot.sparsity.keras.PolynomialDecay(0.1, 0.7, 2, 22, frequency=5), scope="global"
    )


def pruning_with(optimizer: keras.optimizers.Optimizer, **compiled: object) -> np.ndarray:
    """Return weights and masks after pruning a network that is compiled in another way."""
    callback = tfaudit.Pruning(0.8)
    model = network()
    model.compile(optimizer, model.loss, **compiled)
    model.fit(*TRAINING, 32, 3, shuffle=False, verbose=0, callbacks=[callback])
    return np.concatenate([weights(model), *(mask.ravel() for mask in callback.masks().values())])


def hold_masks() -> np.ndarray:
    """Return the weights after fine-tuning under the masks of one-shot pruning."""
    model = network()
    callback = tfaudit.HoldMasks(tfaudit.prune(model, 0.8))
    model.fit(*TRAINING, 32, 2, shuffle=False, verbose=0, callbacks=[callback])
    return np.append(weights(model), tfaudit.sparsity(model)["zeros"])


def rewind() -> np.ndarray:
    """Return the weights of step 5, pruned by those after training, and trained again under the masks."""
    callback = tfaudit.Rewind(5)
    model = trained(callback)
    masks = tfaudit.prune(model, 0.6)
    callback.back(masks)
    rewound = weights(model)
    model.fit(*TRAINING, 32, 1, shuffle=False, verbose=0, callbacks=[tfaudit.HoldMasks(masks)])
    return np.concatenate([rewound, weights(model)])


def distillation() -> np.ndarray:
    """Return the weights after focal distillation from two teachers, one after the other."""
    callback = tfaudit.Distillation(network(1), temperature=2.0, focus=(1, 1))
    model = trained(callback)
    callback.teacher = network(2)
    model.fit(
        *TRAINING, 32, 1, shuffle=False, verbose=0, callbacks=[callback, tfaudit.Pruning(0.5)]
    )
    return weights(model)


def quantize(kind: str) -> np.ndarray:
    """Return the probabilities of a file, whose int8 steps are as wide on every backend."""
    representative = TRAINING[0] if kind == "int8" else None
    content = tfaudit.quantize(network(), kind, representative=representative)
    return tfaudit.predict(content, IMAGES, k=3).probabilities


def batch_norm() -> np.ndarray:
    """Return the weights after new statistics of BatchNormalization."""
    model = network()
    tfaudit.recalibrate_batch_norm(model, IMAGES)
    return weights(model)


def population() -> np.ndarray:
    """Return the zeros of the members of a small study, which have the same accuracies in a second run."""
    study = tfaudit.Study(
        name="small",
        dataset="digits",
        model="digits_convnet",
        training=tfaudit.Training(epochs=2, decay="cosine", warmup=1),
        variants=(tfaudit.Pruned(0.8), tfaudit.Quantized("float16")),
        population=1,
    )
    stores = [tfaudit.run(study, folder, workers=1, retries=0) for folder in ("first", "second")]
    runs = [[store.record(key, 0) for key in study.keys] for store in stores]
    first, second = ([record["accuracy"] for record in records] for records in runs)
    assert first == second, (first, second)
    return np.array([record["zeros"] for record in runs[0]], float)


COMMANDS: dict[str, Callable[[], np.ndarray]] = {
    "`predict`": predict,
    "`compare_models`": compare,
    "`gate_models`": gate,
    "`ClassAudit`": class_audit,
    "`prune`, `sparsity`": prune,
    "`shrink`": shrink,
    "`Pruning`": pruning,
    "`Pruning`, TF-MOT's schedule, global": tfmot_schedule,
    "`Pruning`, channels": lambda: pruning(method="l2", granularity="channel", axis=-1),
    "`Pruning`, accumulated gradients": lambda: pruning_with(
        keras.optimizers.SGD(0.05, momentum=0.9, gradient_accumulation_steps=2)
    ),
    "`Pruning`, averaged weights": lambda: pruning_with(keras.optimizers.Adam(use_ema=True)),
    "`Pruning`, scaled loss": lambda: pruning_with(
        keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.05), initial_scale=128.0)
    ),
    "`Pruning`, several steps per execution": lambda: pruning_with(
        keras.optimizers.SGD(0.05), steps_per_execution=3
    ),
    "`Pruning`, gradient": lambda: pruning(method="gradient", gradient_data=HELD_OUT),
    "`HoldMasks`": hold_masks,
    "`Rewind`": rewind,
    "`Distillation`": distillation,
    "`run`": population,
    "`quantize`, float16": lambda: quantize("float16"),
    "`quantize`, int8": lambda: quantize("int8"),
    "`cost`": lambda: np.array([tfaudit.cost(network(), repeats=0).summary()["flops"]]),
    "`recalibrate_batch_norm`": batch_norm,
    "`quantization_aware`": lambda: weights(tfaudit.quantization_aware(network())),
}


def run_here(folder: Path) -> None:
    """Run all commands in this process; write arrays and lines of errors into a folder."""
    os.chdir(folder)
    arrays, errors = {}, {}
    for name, command in COMMANDS.items():
        try:
            arrays[name] = command()
        except Exception as error:
            errors[name] = f"{type(error).__name__}: {error}"
    np.savez("arrays.npz", **arrays)
    Path("errors.json").write_text(json.dumps(errors))


def results(backend: str) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return arrays and lines of errors of all commands on a backend, which runs in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, __file__, "--here", folder],
            env={**os.environ, "KERAS_BACKEND": backend},
            check=True,
        )
        with np.load(Path(folder, "arrays.npz")) as arrays:
            return dict(arrays), json.loads(Path(folder, "errors.json").read_text())


def table(backends: tuple[str, ...]) -> str:
    """Return commands and backends as a Markdown table."""
    found = {backend: results(backend) for backend in ("tensorflow", *backends)}
    expected, _ = found["tensorflow"]

    def cell(backend: str, name: str) -> str:
        arrays, errors = found[backend]
        if name not in arrays or name not in expected:
            return errors.get(name, "runs")
        return f"{np.abs(arrays[name] - expected[name]).max():.1e}"

    rows = [["command", *backends], ["---"] * (1 + len(backends))]
    rows += [[name, *(cell(backend, name) for backend in backends)] for name in COMMANDS]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        run_here(Path(sys.argv[2]))
    else:
        print(table(tuple(sys.argv[1:]) or BACKENDS[1:]))
