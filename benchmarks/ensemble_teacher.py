"""Does an ensemble of dense members teach better than one? K = 10.

    tfaudit prepare fashion_mnist --from FASHION_MNIST
    python -m benchmarks.ensemble_teacher DIR [--recipe fashion_mnist_repair] [--members 10] [--epochs 12]
    tfaudit prepare cifar10 --from CIFAR10
    python -m benchmarks.ensemble_teacher DIR --recipe cifar10_forgets

Dense members are trained as in the recipe: LeNet-5 on Fashion-MNIST, or four convolutions on CIFAR-10. Each is pruned
once, by global magnitude except for the classifier, and fine-tuned three times without augmentation: without a teacher,
with `Distillation` from itself, and with `Distillation` from the mean of all members' scores. In the row "ensemble,
both" the ensemble teaches the dense member first, and the pruned one is compared with that, as ELODI does for two
versions of a model. DIR keeps each member's predictions; the same command goes on where it stopped. A rate is the mean
over the members; its interval is over images and members.
"""

import argparse
import dataclasses
import importlib
from pathlib import Path

import keras
import numpy as np

import tfaudit
from recipes.fashion_mnist_repair import distillation
from tfaudit.audits import flip_rates
from tfaudit.compress.pruning.hold_masks import HoldMasks
from tfaudit.datasets.dataset import Dataset
from tfaudit.predictions import Predictions

TEACHERS = "none", "own", "ensemble"
BOTH = "ensemble, both"
SPARSITY = {"fashion_mnist_repair": 0.95, "cifar10_forgets": 0.7}
BATCH, RATE = 128, 0.003
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def dense(directory: Path, recipe: str, members: int) -> tuple[str, list[keras.Model]]:
    """Return the data set and the dense members of a recipe, trained unless they are there."""
    study = importlib.import_module(f"recipes.{recipe}").study
    dataset = study.dataset.removesuffix("_subclasses")
    none = {"corruptions": (), "corrupted_variants": None, "variants": ()}
    study = dataclasses.replace(study, dataset=dataset, population=members, **none)
    store = tfaudit.run(study, directory, workers=1)
    paths = [store.directory / store.member_path("dense", k, "model.keras") for k in range(members)]
    return dataset, [keras.saving.load_model(path) for path in paths]


def with_teacher_input(model: keras.Model) -> keras.Model:
    """Return a copy of a model with a second input: the scores of a teacher, which it does not use."""
    image, scores = keras.Input(model.input_shape[1:]), keras.Input(model.output_shape[1:])
    copy = keras.models.clone_model(model, input_tensors=image)
    copy.set_weights(model.get_weights())
    return keras.Model([image, scores], copy.outputs[0])


def teacher_of_stored_scores(model: keras.Model) -> keras.Model:
    """Return a teacher for `with_teacher_input`, which costs no forward pass: its scores are computed once."""
    image, scores = (keras.Input(tensor.shape[1:]) for tensor in model.inputs)
    return keras.Model([image, scores], keras.layers.Identity()(scores))


def fine_tuned(
    start: keras.Model,
    scores: np.ndarray | None,
    seed: int,
    train: Dataset,
    sparsity: float,
    epochs: int,
) -> keras.Model:
    """Return a member fine-tuned, pruned if there is a sparsity; `scores` are its teacher's on the training images."""
    keras.utils.set_random_seed(100 + seed)
    model = with_teacher_input(start)
    callbacks: list[keras.callbacks.Callback] = []
    if sparsity:
        layers = [layer for layer in model.layers if hasattr(layer, "kernel")][:-1]
        callbacks.append(HoldMasks(tfaudit.prune(model, sparsity, scope="global", layers=layers)))
    if scores is None:
        scores = np.zeros((len(train.labels), model.output_shape[1]), np.float32)
    else:
        names = ("temperature", "weight", "focus")
        settings = {name: getattr(distillation, name) for name in names}
        teacher = teacher_of_stored_scores(model)
        callbacks.append(tfaudit.Distillation(teacher, from_logits=True, **settings))
    steps = epochs * -(-len(train.labels) // BATCH)
    rate = keras.optimizers.schedules.CosineDecay(RATE, steps)
    model.compile(keras.optimizers.Adam(rate), LOSS, jit_compile=False)
    x = [train.images, scores]
    model.fit(x, train.labels, BATCH, epochs, verbose=0, callbacks=callbacks)
    finished = keras.models.clone_model(start)
    finished.set_weights(model.get_weights())
    tfaudit.recalibrate_batch_norm(finished, train.images)
    return finished


def main() -> None:
    """Train what is missing; print a row per teacher."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path)
    parser.add_argument("--recipe", choices=SPARSITY, default="fashion_mnist_repair")
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=12)
    options = parser.parse_args()
    place = options.directory / options.recipe
    members = range(options.members)
    dataset, starts = dense(place / "dense", options.recipe, options.members)
    train, test = (tfaudit.load_dataset(dataset, split) for split in ("train", "test"))
    scores = [model.predict(train.images, 1000, verbose=0) for model in starts]
    mean = np.mean(scores, axis=0)

    def top1(model: keras.Model) -> np.ndarray:
        return tfaudit.predict(model, test.images)[0][:, 0]

    sparsity = SPARSITY[options.recipe]
    before = np.array([top1(model) for model in starts])
    found = {name: (before, np.empty_like(before)) for name in TEACHERS}
    found[BOTH] = np.empty_like(before), np.empty_like(before)
    for k in members:
        teachers = dict(zip(TEACHERS, (None, scores[k], mean), strict=True))
        for name in found:
            path = place / f"{name}-of-{options.members}-{options.epochs}-epochs-{k}.npy"
            if not path.is_file():
                dense_one, of_teacher = starts[k], teachers.get(name, mean)
                if name == BOTH:
                    dense_one = fine_tuned(dense_one, mean, k, train, 0, options.epochs)
                model = fine_tuned(dense_one, of_teacher, k, train, sparsity, options.epochs)
                np.save(path, [top1(dense_one), top1(model)])
            for side, predicted in zip(found[name], np.load(path), strict=True):
                side[k] = predicted
            print(k, name, f"{100 * (found[name][1][k] == test.labels).mean():.2f} %", flush=True)
    print(
        "| teacher | accuracy before and after, % | newly wrong, % (95 % interval) |\n|---|---|---|"
    )
    for name, sides in found.items():
        before, after = (Predictions.from_top1(test.labels, side) for side in sides)
        rate = flip_rates(before, after, paired=True).summary()
        share, low, high = (100 * rate[f"negative_{end}"] for end in ("share", "low", "high"))
        accuracies = [f"{100 * side.accuracy().mean():.2f}" for side in (before, after)]
        print(f"| {name} | {' and '.join(accuracies)} | {share:.2f} ({low:.2f} to {high:.2f}) |")


if __name__ == "__main__":
    main()
