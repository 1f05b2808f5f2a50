"""Does an ensemble of dense members teach better than one? LeNet-5 on Fashion-MNIST, 95 % pruned, K = 10.

    tfaudit prepare fashion_mnist --from FASHION_MNIST
    python -m benchmarks.ensemble_teacher DIR [--members 10] [--epochs 36]

The training is that of the recipe `fashion_mnist_repair`. Each dense member is pruned once and fine-tuned three times:
without a teacher, with `Distillation` from itself, and with `Distillation` from the mean of all dense members' logits.
DIR keeps each member's models; the same command goes on where it stopped.
"""

import argparse
from pathlib import Path

import keras
import numpy as np

import tfaudit
from recipes.fashion_mnist_repair import distillation, study
from tfaudit.compress.pruning.hold_masks import HoldMasks
from tfaudit.datasets.dataset import Dataset
from tfaudit.models.registry import build_model
from tfaudit.predictions import Predictions

TEACHERS = "none", "own", "ensemble"
BATCH = 128
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def teacher_of(models: list[keras.Model]) -> keras.Model:
    """Return a model whose logits are the mean of those of others."""
    inputs = keras.Input(models[0].input_shape[1:])
    named = [
        keras.Model(model.inputs, model.outputs[0], name=f"member{k}")
        for k, model in enumerate(models)
    ]
    return keras.Model(inputs, keras.layers.average([model(inputs) for model in named]))


def dense(path: Path, seed: int, train: Dataset) -> keras.Model:
    """Return a dense member, trained unless the file is there."""
    if not path.is_file():
        keras.utils.set_random_seed(seed)
        mean, std = train.moments()
        model = build_model("lenet_r", (28, 28, 1), 10, mean=mean, std=std)
        plan = study.training
        optimizer = keras.optimizers.SGD(plan.learning_rate, plan.momentum, nesterov=True)
        model.compile(optimizer, LOSS, jit_compile=False)
        model.fit(train.images, train.labels, BATCH, plan.epochs, verbose=0)
        model.save(path)
    return keras.saving.load_model(path)


def pruned(
    path: Path,
    start: keras.Model,
    teacher: keras.Model | None,
    seed: int,
    epochs: int,
    train: Dataset,
) -> keras.Model:
    """Return a pruned and fine-tuned member, trained unless the file is there."""
    if not path.is_file():
        keras.utils.set_random_seed(100 + seed)
        model = keras.models.clone_model(start)
        model.set_weights(start.get_weights())
        layers = [layer for layer in model.layers if hasattr(layer, "kernel")][:-1]
        masks = tfaudit.prune(model, study.variants[0].sparsity, scope="global", layers=layers)
        callbacks: list[keras.callbacks.Callback] = [HoldMasks(masks)]
        if teacher is not None:
            settings = {
                name: getattr(distillation, name) for name in ("temperature", "weight", "focus")
            }
            callbacks.append(tfaudit.Distillation(teacher, from_logits=True, **settings))
        steps = epochs * -(-len(train.labels) // BATCH)
        rate = keras.optimizers.schedules.CosineDecay(study.retraining.learning_rate, steps)
        model.compile(keras.optimizers.Adam(rate), LOSS, jit_compile=False)
        model.fit(train.images, train.labels, BATCH, epochs, verbose=0, callbacks=callbacks)
        model.save(path)
    return keras.saving.load_model(path)


def main() -> None:
    """Train what is missing; print a row per teacher."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path)
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=study.retraining.epochs)
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    train, test = (tfaudit.load_dataset("fashion_mnist", split) for split in ("train", "test"))

    def top1(model: keras.Model) -> np.ndarray:
        return tfaudit.predict(model, test.images)[0][:, 0]

    members = range(options.members)
    starts = [dense(options.directory / f"dense-{k}.keras", k, train) for k in members]
    ensemble = teacher_of(starts)
    print(f"ensemble: accuracy {100 * (top1(ensemble) == test.labels).mean():.2f} %")
    found = {name: [] for name in TEACHERS}
    for k in members:
        for name, teacher in zip(TEACHERS, (None, starts[k], ensemble), strict=True):
            path = options.directory / f"{name}-of-{options.members}-{k}.keras"
            model = pruned(path, starts[k], teacher, k, options.epochs, train)
            found[name].append(top1(model))
            print(k, name, f"{100 * (found[name][-1] == test.labels).mean():.2f} %", flush=True)
    before = Predictions.from_top1(test.labels, np.array([top1(model) for model in starts]))
    print("| teacher | accuracy, % | negative flips of 10,000, per member |\n|---|---|---|")
    for name in TEACHERS:
        after = Predictions.from_top1(test.labels, np.array(found[name]))
        lost = (before.correct() & ~after.correct()).sum(1)
        print(
            f"| {name} | {100 * after.accuracy().mean():.2f} | {lost.mean():.0f} ({list(lost)}) |"
        )


if __name__ == "__main__":
    main()
