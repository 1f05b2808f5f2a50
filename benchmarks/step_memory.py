"""The estimated memory of training steps against measured peaks: `python benchmarks/step_memory.py [MODEL ...]`.

Each model trains for two steps in a process of its own, as a member does: with one thread, `Trainer` and its input
pipeline. The peak is the most memory that the process held, less what it held before the first step (Linux only).
"""

import os
import subprocess
import sys
from pathlib import Path

MODELS = {
    "digits_convnet": ((28, 28, 1), 10, 4096),
    "cifar_convnet": ((32, 32, 3), 10, 1024),
    "resnet56": ((32, 32, 3), 10, 128),
    "wide_resnet": ((32, 32, 3), 10, 24),
    "vgg16_cifar": ((32, 32, 3), 10, 128),
    "resnet50": ((224, 224, 3), 1000, 8),
}
"""Shape of the images, number of classes and batch size by model."""


def measure(name: str) -> None:
    """Train a model for two steps and print estimate and measured peak, MB."""
    import numpy as np
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)

    from tfaudit import Study, Training
    from tfaudit.compress.step_memory import step_memory
    from tfaudit.datasets.dataset import Dataset
    from tfaudit.population.machine import peak_memory, used_memory
    from tfaudit.population.training import Trainer

    shape, classes, batch = MODELS[name]
    examples = 2 * batch
    images = np.random.default_rng(0).integers(0, 256, (examples, *shape), np.uint8)
    data = Dataset(
        "noise",
        "train",
        tuple(map(str, range(classes))),
        shape,
        examples,
        inputs=images,
        known_labels=np.arange(examples) % classes,
        known_ids=np.arange(examples).astype(str),
    )
    training = Training(steps=2, batch_size=batch, weight_decay=1e-4)
    study = Study(name="noise", dataset="noise", model=name, training=training)
    trainer = Trainer(study, training, data)
    model = trainer.build(0)
    before = used_memory()
    trainer.train(model, 0)
    peak = (peak_memory() - before) / 1e6
    memory = step_memory(trainer.model)
    estimate = memory.of(batch) / 1e6
    each = (memory.of(2) - memory.of(1)) / 1e6
    size = "x".join(map(str, shape[:2]))
    ratio = f"{estimate / peak:.2f}"
    print(f"| {name} | {size} | {batch} | {each:.2f} | {estimate:.0f} | {peak:.0f} | {ratio} |")


def main() -> None:
    """Print a table of models, one process each."""
    print("| model | images | batch | MB per image | estimated, MB | measured, MB | ratio |")
    print("|---|---|---|---|---|---|---|", flush=True)
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "1"}
    for name in sys.argv[1:] or MODELS:
        code = f"import step_memory; step_memory.measure({name!r})"
        command = [sys.executable, "-c", code]
        subprocess.run(command, check=True, env=environment, cwd=Path(__file__).parent)


if __name__ == "__main__":
    main()
