"""Does an ensemble of dense members teach better than one? K = 10.

    tfaudit prepare fashion_mnist --from FASHION_MNIST
    python -m benchmarks.ensemble_teacher DIR [--recipe fashion_mnist_repair] [--members 10] [--epochs 12]
    tfaudit prepare cifar10 --from CIFAR10
    python -m benchmarks.ensemble_teacher DIR --recipe cifar10_forgets

Dense members are trained as in the recipe: LeNet-5 on Fashion-MNIST, or four convolutions on CIFAR-10. Each
is pruned once, by global magnitude except for the classifier, and fine-tuned three times without augmentation: without
a teacher, with `Distillation` from itself, and with `Distillation` from the mean of all members' scores. DIR keeps
each member's models; the same command goes on where it stopped. A rate is the mean over the members; its interval is
over images and members.
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


def pruned(
    start: keras.Model,
    scores: np.ndarray | None,
    seed: int,
    train: Dataset,
    sparsity: float,
    epochs: int,
) -> keras.Model:
    """Return a member pruned and fine-tuned; `scores` are those of its teacher on the training images."""
    keras.utils.set_random_seed(100 + seed)
    model = with_teacher_input(start)
    layers = [layer for layer in model.layers if hasattr(layer, "kernel")][:-1]
    masks = tfaudit.prune(model, sparsity, scope="global", layers=layers)
    callbacks: list[keras.callbacks.Callback] = [HoldMasks(masks)]
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

    found: dict[str, list[np.ndarray]] = {name: [] for name in TEACHERS}
    for k in members:
        for name, of_teacher in zip(TEACHERS, (None, scores[k], mean), strict=True):
            path = place / f"{name}-of-{options.members}-{options.epochs}-epochs-{k}.npy"
            if not path.is_file():
                sparsity = SPARSITY[options.recipe]
                model = pruned(starts[k], of_teacher, k, train, sparsity, options.epochs)
                np.save(path, top1(model))
            found[name].append(np.load(path))
            print(k, name, f"{100 * (found[name][-1] == test.labels).mean():.2f} %", flush=True)
    votes = np.mean(
        [keras.ops.softmax(model.predict(test.images, 1000, verbose=0)) for model in starts], axis=0
    )
    print(f"ensemble: accuracy {100 * (votes.argmax(1) == test.labels).mean():.2f} %")
    before = Predictions.from_top1(test.labels, np.array([top1(model) for model in starts]))
    print(f"dense: accuracy {100 * before.accuracy().mean():.2f} %")
    print(
        "| teacher | accuracy, % | newly wrong, % (95 % interval) | by member |\n|---|---|---|---|"
    )
    for name in TEACHERS:
        after = Predictions.from_top1(test.labels, np.array(found[name]))
        rate = flip_rates(before, after, paired=True).frame().iloc[0]
        share = [
            100 * rate[column] for column in ("negative_share", "negative_low", "negative_high")
        ]
        lost = (before.correct() & ~after.correct()).sum(1)
        print(
            f"| {name} | {100 * after.accuracy().mean():.2f} "
            f"| {share[0]:.2f} ({share[1]:.2f} to {share[2]:.2f}) | {list(map(int, lost))} |"
        )


if __name__ == "__main__":
    main()
